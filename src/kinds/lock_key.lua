-- The readers of a lock's key. A single reader holds it as a string, its token. Several readers are a sorted
-- set of their tokens. A waiting writer has a mark in the set: `writer:` and the number of its client.
--
-- A set has its own clock. A reader's score is the time at which its share ends. A mark's score is the
-- negative of that time, so marks come first and readers last. The key expires when its last member ends. The
-- clock therefore shows that end minus the key's PTTL. A ttl moves with its key, so the clock continues on a
-- server with a different time.

-- Returns '@' and the label of a token, or '' if it has no label. Returns nil if the digits of a token do not
-- begin at `first`. A token has 40 hexadecimal digits, as `runtime::token` generates them. A label is a word
-- of up to 64 printable characters.
local function label_at(token, first)
    local _, last = string.find(token, '^[0-9a-f]+', first)
    if last ~= first + 39 then
        return nil
    end
    local label = string.sub(token, last + 1)
    return (label == '' or #label <= 65 and string.find(label, '^@[!-~]+$')) and label or nil
end

-- Returns whether a token has the prefix of readers.
local function is_reader(token)
    return string.sub(token, 1, 7) == 'reader:' and label_at(token, 8)
end

-- Returns whether a member is a mark. A client's number is below 2^53, so it has at most 16 digits.
local function is_mark(member)
    return #member <= 23 and string.find(member, '^writer:%d+$')
end

-- Longest life of a mark in milliseconds, as `kinds::writer_mark_ttl`. A mark with more time left dates from
-- before the server's clock was set back. It does not count. Its writer sets it again if it still waits.
local longest_mark = 1000

-- Reads a set. The field `now` is its clock, `last` its last member, and `ends` its end. The fields `readers`
-- and `marks` are the ends of its last reader and its last mark. They are 0 if there is none. Returns nil if
-- the key is not a set that colock wrote.
local function read_set(key)
    local first = look('zrange', key, 0, 0, 'withscores')
    local last = look('zrange', key, -1, -1, 'withscores')
    if not first[1] or not last[1] then
        return nil  -- The key is missing, or has another type.
    end
    for _, member in ipairs({first[1], last[1]}) do
        -- mutant: foreign_set_is_taken
        if not is_mark(member) and not is_reader(member) then
            return nil
        end
    end
    local left = redis.call('pttl', key)
    local longest = math.max(left, math.abs(first[2]), math.abs(last[2]))
    if left < 0 or longest >= 2 ^ 53 then
        return nil  -- Another program removed its ttl, or wrote a time.
    end
    local set = {marks = is_mark(first[1]) and -first[2] or 0, readers = is_reader(last[1]) and tonumber(last[2]) or 0}
    set.last = last[1]
    set.ends = math.max(set.marks, set.readers)
    set.now = set.ends - left
    return set
end

local function counts(mark_ends, set)
    -- mutant: mark_from_before_a_jump
    return mark_ends > set.now and mark_ends <= set.now + longest_mark
end

-- Returns whether a writer waits.
local function is_marked(set)
    return counts(set.marks, set)
end

-- Returns the reply about a key that another token holds: '@' and the label of that token, or -1 if it has
-- none. For the permits of a semaphore and for a result of `once`, it is 'of' and the name of that lock.
local function held_by(token)
    if string.sub(token, 1, 5) == 'done:' then
        return redis.status_reply('of result_of_once')
    end
    local permits = string.match(token, '^permit:(%d%d?%d?%d?)%*')
    if permits then
        return redis.status_reply('of semaphore_of_' .. permits .. '_permits')
    end
    local label = label_at(token, string.sub(token, 1, 7) == 'reader:' and 8 or 1)
    return label and label ~= '' and redis.status_reply(label) or -1
end

-- Returns the reply for a token that does not hold the key. The reply to GET is `value`: a string, or an
-- error if the key has another type. If another token holds the key, the reply is that of held_by. If there
-- are several readers, the last one counts. If no lock wrote the key, the reply is 'holds' and the type that
-- TYPE reports. No lock depends on this, so the reply is -1 if the server refuses TYPE.
local function held_by_another(key, value)
    if type(value) == 'string' then
        return held_by(value)
    end
    local set = read_set(key)
    if set then
        return set.readers > set.now and held_by(set.last) or -1
    end
    local first = redis.pcall('zrange', key, 0, 0)[1]
    local permits = first and string.match(first, '^semaphore:(%d%d?%d?%d?)$')
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

-- Reads the set in which a reader's token may have a share. The reply to GET is `value`, which is not this
-- token. If there is no such set, returns nil and the reply for the token. The reply is 0 if the token holds
-- nothing there. Otherwise it is that of held_by_another.
local function find_set(key, token, value)
    if value == false then
        return nil, 0
    end
    if not is_reader(token) then
        return nil, held_by_another(key, value)
    end
    if type(value) == 'string' then
        return nil, is_reader(value) and 0 or held_by(value)  -- Readers do not exclude each other.
    end
    local set = read_set(key)
    return set, not set and held_by_another(key, value) or nil
end

-- Returns when the share of a reader's token ends. Returns nil if there is no share, or if it has ended.
local function share_of(key, token, set)
    local ends = redis.call('zscore', key, token)
    -- mutant: dead_reader_stays
    return ends and tonumber(ends) > set.now and tonumber(ends) or nil
end

-- Returns whether the key has the token that this reader had as a writer.
local function is_former(value, token)
    return type(value) == 'string' and 'reader:' .. value == token
end

-- Makes a set next to the string that a single reader holds. If the server refuses a command, changes nothing
-- and returns the error. `left` is the key's PTTL. The new member ends after `life` milliseconds. `sign` is
-- -1 for a mark and 1 for a reader. The caller then replaces the key by RENAME, which the server no longer
-- refuses. The key therefore exists at every moment. Commands that may be refused are tried before the set is
-- made, or on the set.
local function make_set(key, beside, reader, left, member, life, sign)
    local place = redis.pcall('pttl', beside)
    if type(place) == 'table' then
        -- A node that is moving the slot refuses each command on a key that it does not have.
        local moves = string.find(place.err, 'non local key')
        return moves and redis.error_reply('TRYAGAIN the slot of the lock is being moved') or place
    end
    -- mutant: foreign_place_is_overwritten
    if place ~= -2 then
        return redis.error_reply('READERS the key ' .. beside .. ' was not written by colock')
    end
    local time = redis.call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)  -- Its clock begins with the server's.
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
            -- mutant: new_set_is_left
            redis.call('del', beside)
            return answer
        end
    end
end

-- Returns when the other members of a set end: its last reader, and its last mark that counts. 0 means
-- that there is none.
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

-- Removes members that have ended, and marks that do not count.
local function drop_ended(key, set)
    redis.call('zremrangebyscore', key, -set.now, set.now)
    redis.call('zremrangebyscore', key, '-inf', '(' .. -(set.now + longest_mark))
end

-- Makes the key expire at `ends`. This needs no memory. It is called before the members change, so that the
-- clock never runs fast. It calls nothing if the end is unchanged. Before Redis 7.2, time passes inside a
-- script, and each call would lose some of it.
local function end_at(key, set, ends)
    if ends ~= set.ends then
        redis.call('pexpire', key, ends - set.now)
    end
end

-- Prepares the write of a member that ends at `ends`. Raises an error if the server refuses a command.
-- Otherwise makes the key live long enough. The server may refuse ZADD for lack of memory, but not a write
-- that follows another write of the script.
local function prepare(key, set, member, ends)
    redis.call('zadd', key, 'xx', 0, '')
    redis.call('zremrangebyscore', key, 1, 0)
    local readers, marks = ends_without(key, set, member)
    -- mutant: key_lives_with_the_newest
    end_at(key, set, math.max(readers, marks, ends))
end

-- Writes a member. After `prepare`, the server does not refuse this.
local function put(key, set, member, score)
    -- mutant: one_mark_for_all, newcomer_shortens_the_others
    redis.call('zadd', key, score, member)
    drop_ended(key, set)
end

-- Removes a member, a reader or a mark. The key is deleted with its last member. Nothing is read from a key
-- that may be gone.
local function remove(key, set, member)
    local readers, marks = ends_without(key, set, member)
    -- mutant: share_takes_all
    if readers == 0 and marks == 0 then
        redis.call('del', key)
        return
    end
    redis.call('zremrangebyscore', key, 1, 0)
    redis.call('zrem', key, '')
    -- mutant: key_outlives_its_readers
    end_at(key, set, math.max(readers, marks))
    redis.call('zrem', key, member)
    drop_ended(key, set)
end
