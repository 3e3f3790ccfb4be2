-- The readers of a lock's key. One reader holds it as a string, its token. Several readers are a sorted set of their tokens. A
-- waiting writer has a mark in the set: `writer:` and the number of its client.
--
-- A set has a clock of its own. A reader's score is the time at which its share ends. A mark's score is the negative of that time,
-- so marks come first and readers last. The key expires when its longest member ends, so the clock shows that end less the
-- key's PTTL. A ttl moves with its key. The clock therefore goes on when the key moves to a server whose time is another.

-- A token, as `runtime::token` draws it, has 40 hexadecimal digits. Behind them there may be '@' and a label, which is a word of up to
-- 64 printable characters. Returns that, or '' if there is no label; nil if such digits do not begin at `first`.
local function label_at(token, first)
    local _, last = string.find(token, '^[0-9a-f]+', first)
    if last ~= first + 39 then
        return nil
    end
    local label = string.sub(token, last + 1)
    return (label == '' or #label <= 65 and string.find(label, '^@[!-~]+$')) and label or nil
end

-- A token behind the prefix of readers.
local function is_reader(token)
    return string.sub(token, 1, 7) == 'reader:' and label_at(token, 8)
end

-- A client's number is below 2^53.
local function is_mark(member)
    return #member <= 23 and string.find(member, '^writer:%d+$')
end

-- How long a mark may live, in milliseconds, as `kinds::writer_mark_ttl`. A mark that would live longer was left before the
-- server's clock was set back. It does not count. Its writer sets it again if it still waits.
local longest_mark = 1000

-- Reads a set: its clock `now`, when its last reader and its longest mark end (0: there is none), its last member, and when it
-- ends itself. Returns nil if the key is no set that colock wrote.
local function read_set(key)
    local first = look('zrange', key, 0, 0, 'withscores')
    local last = look('zrange', key, -1, -1, 'withscores')
    if not first[1] or not last[1] then
        return nil  -- no key, or an error: a key of another type
    end
    for _, member in ipairs({first[1], last[1]}) do
        if not is_mark(member) and not is_reader(member) then
            return nil
        end
    end
    local left = redis.call('pttl', key)
    if left < 0 then
        return nil  -- somebody removed its ttl
    end
    local set = {marks = is_mark(first[1]) and -first[2] or 0, readers = is_reader(last[1]) and tonumber(last[2]) or 0}
    set.last = last[1]
    set.ends = math.max(set.marks, set.readers)
    set.now = set.ends - left
    return set
end

local function counts(mark_ends, set)
    return mark_ends > set.now and mark_ends <= set.now + longest_mark
end

-- Whether a writer waits.
local function is_marked(set)
    return counts(set.marks, set)
end

-- The answer about a key that another token holds: '@' and the label of that token. Returns -1 if it has none. For the permits of a
-- semaphore, and for a result of `once`, it is 'of' and that.
local function held_by(token)
    if string.sub(token, 1, 5) == 'done:' then
        return redis.status_reply('of result_of_once')
    end
    local permits = string.match(token, '^permit:(%d+)%*')
    if permits then
        return redis.status_reply('of semaphore_of_' .. permits .. '_permits')
    end
    local label = label_at(token, string.sub(token, 1, 7) == 'reader:' and 8 or 1)
    return label and label ~= '' and redis.status_reply(label) or -1
end

-- The answer for a token that does not hold the key. `value` is what GET has answered: a string, or an error for a key of another
-- type. If another token holds it, that of held_by. Of several readers, the last one counts. If no lock wrote the key: 'holds', and
-- the type that TYPE reports. No lock depends on this, so a server that refuses TYPE gives -1 too.
local function held_by_another(key, value)
    if type(value) == 'string' then
        return held_by(value)
    end
    local set = read_set(key)
    if set then
        return set.readers > set.now and held_by(set.last) or -1
    end
    local first = redis.pcall('zrange', key, 0, 0)[1]
    local permits = first and string.match(first, '^semaphore:(%d+)$')
    if permits then
        return held_by('permit:' .. permits .. '*')
    end
    local writes = redis.pcall('hget', key, 'w')
    if type(writes) == 'string' and string.find(writes, '^ %x+:%d+:%d+') then
        return redis.status_reply('of versioned_value')
    end
    local kind = redis.pcall('type', key)
    return kind.ok and redis.status_reply('holds ' .. kind.ok) or -1
end

-- Reads the set in which a reader's token may have a share. `value` is what GET has answered, which is not this token. If there is no
-- such set, returns nil and the answer for the token: 0 it holds nothing there, or that of held_by_another.
local function find_set(key, token, value)
    if value == false then
        return nil, 0
    end
    if not is_reader(token) then
        return nil, held_by_another(key, value)
    end
    if type(value) == 'string' then
        return nil, is_reader(value) and 0 or held_by(value)  -- another reader is not in a reader's place
    end
    local set = read_set(key)
    return set, not set and held_by_another(key, value) or nil
end

-- When the share of a reader's token ends, if it has one; else nil.
local function share_of(key, token, set)
    local ends = redis.call('zscore', key, token)
    return ends and tonumber(ends) > set.now and tonumber(ends) or nil
end

-- Whether the key has what was this reader's token when it was a writer's.
local function is_former(value, token)
    return type(value) == 'string' and 'reader:' .. value == token
end

-- Makes a set beside the string that one reader holds, or changes nothing and returns the error. `left` is the key's PTTL. The new
-- member ends after `life`; `sign` is -1 for a mark, else 1. RENAME then has the set take the place of the key, and is not refused any more. So
-- there is no moment without the key. What can be refused is tried before the set is made, or on the set.
local function make_set(key, beside, reader, left, member, life, sign)
    local place = redis.pcall('pttl', beside)
    if type(place) == 'table' then
        -- A node that is moving the slot refuses each command on a key that it does not have.
        local moves = string.find(place.err, 'non local key')
        return moves and redis.error_reply('TRYAGAIN the slot of the lock is being moved') or place
    end
    if place ~= -2 then
        return redis.error_reply('READERS the key ' .. beside .. ' was not written by colock')
    end
    local time = redis.call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)  -- its clock begins with the server's
    redis.call('zadd', beside, 'xx', 0, '')
    redis.call('del', beside)
    for _, command in ipairs({
        {'zadd', beside, now + left, reader, sign * (now + life), member},
        {'pexpire', beside, math.max(left, life)},
        {'zscore', beside, member},
        {'zrange', beside, 0, 0},
        {'zrem', beside, ''},
        {'zremrangebyscore', beside, 1, 0},
        {'rename', beside, beside},
    }) do
        local answer = redis.pcall(unpack(command))
        if type(answer) == 'table' and answer.err then
            redis.call('del', beside)
            return answer
        end
    end
end

-- When the other members of a set end: its last reader, and its longest mark that counts. 0: there is none.
local function ends_without(key, set, member)
    local readers, marks = 0, 0
    local last = redis.call('zrange', key, -2, -1, 'withscores')
    for i = 1, #last, 2 do
        if last[i] ~= member and is_reader(last[i]) and tonumber(last[i + 1]) > set.now then
            readers = tonumber(last[i + 1])
        end
    end
    for i = 0, math.huge do
        local one = redis.call('zrange', key, i, i, 'withscores')
        if not one[1] or not is_mark(one[1]) then
            break
        end
        if one[1] ~= member and counts(-one[2], set) then
            marks = -one[2]
            break
        end
    end
    return readers, marks
end

-- Drops what has ended, and marks that do not count.
local function drop_ended(key, set)
    redis.call('zremrangebyscore', key, -set.now, set.now)
    redis.call('zremrangebyscore', key, '-inf', '(' .. -(set.now + longest_mark))
end

-- Has the key end then. Needs no memory. It is called before the members change, so that the clock never runs fast. It calls nothing if
-- the end is the same. Before Redis 7.2, time passes inside a script, and each call would lose some of it.
local function end_at(key, set, ends)
    if ends ~= set.ends then
        redis.call('pexpire', key, ends - set.now)
    end
end

-- Comes before a member is written that ends then. Raises an error if the server refuses a command, and has the key live for long enough
-- otherwise. ZADD needs memory, and what a script writes after another write does not.
local function prepare(key, set, member, ends)
    redis.call('zadd', key, 'xx', 0, '')
    redis.call('zremrangebyscore', key, 1, 0)
    local readers, marks = ends_without(key, set, member)
    end_at(key, set, math.max(readers, marks, ends))
end

-- Writes a member. Nothing refuses that behind `prepare`.
local function put(key, set, member, score)
    redis.call('zadd', key, score, member)
    drop_ended(key, set)
end

-- Removes a member, a reader or a mark. The key goes with the last member. Nothing is asked of a key that may be gone.
local function remove(key, set, member)
    local readers, marks = ends_without(key, set, member)
    if readers == 0 and marks == 0 then
        redis.call('del', key)
        return
    end
    redis.call('zremrangebyscore', key, 1, 0)
    redis.call('zrem', key, '')
    end_at(key, set, math.max(readers, marks))
    redis.call('zrem', key, member)
    drop_ended(key, set)
end
