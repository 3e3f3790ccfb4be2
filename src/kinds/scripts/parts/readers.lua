-- The readers of a lock's key: one holds it as a string, its token; several as a sorted set of their tokens, by the times in
-- milliseconds at which they expire. A waiting writer has a mark among them, `writer:` and the number of its client, by the time
-- at which it expires, too, but as a negative number. So marks come first in the set, and readers last.

local function is_reader(token)
    return string.find(token, '^reader:%x+$')
end

local function is_mark(member)
    return string.find(member, '^writer:%d+$')
end

-- For how long a mark may live, in milliseconds, as `kinds::writer_mark_ttl`. One that would live longer was left before the
-- server's clock was set back, and does not count. Its writer, if it still waits, leaves it anew.
local longest_mark = 1000

-- Now, and what TIME has told.
local function now_in_ms()
    local time = redis.call('time')
    return time[1] * 1000 + math.floor(time[2] / 1000), time
end

-- Whether a key that is no string has readers, or a mark: what the library has written.
local function has_readers(key)
    for _, place in ipairs({0, -1}) do
        local member = redis.pcall('zrange', key, place, place)[1]
        if not member or not (is_mark(member) or is_reader(member)) then
            return false
        end
    end
    return true
end

-- The error, if the server does not allow us what a set of readers takes: to be known before anything is written. `key` is a
-- string, so each command fails, and changes nothing; the error tells whether it was allowed.
local function is_forbidden(key)
    for _, command in ipairs({{'zadd', key, 0, ''}, {'zrange', key, 0, 0}, {'zscore', key, ''}, {'pexpire', key, ''}}) do
        local answer = redis.pcall(unpack(command))
        if not string.find(answer.err, 'WRONGTYPE') and not string.find(answer.err, 'integer') then
            return answer
        end
    end
end

-- The one reader that holds the key as a string becomes the first member of a sorted set.
local function make_set(key, reader, now)
    local left = redis.call('pttl', key)
    redis.call('del', key)
    redis.call('zadd', key, now + left, reader)
end

-- Readers and marks that have expired go, and marks that do not count.
local function drop_expired(key, now)
    redis.call('zremrangebyscore', key, -now, now)
    redis.call('zremrangebyscore', key, '-inf', '(' .. -(now + longest_mark))
end

-- When the last reader expires; 0 if there is none.
local function last_reader_until(key)
    local last = redis.call('zrange', key, -1, -1, 'withscores')[2]  -- of a mark it is negative
    return math.max(last or 0, 0)
end

-- When the mark that lives longest ends; 0 if there is none.
local function marked_until(key)
    local first = redis.call('zrange', key, 0, 0, 'withscores')
    return first[1] and is_mark(first[1]) and -first[2] or 0
end

local function is_marked(key, now)
    local ends = marked_until(key)
    return ends > now and ends <= now + longest_mark
end

-- The key lives as long as its last reader and its marks, if it has any.
local function live_with_last(key)
    local now = now_in_ms()
    local ends = math.max(last_reader_until(key), math.min(marked_until(key), now + longest_mark))
    if ends > 0 then
        redis.call('pexpire', key, ends - now)
    end
end

-- When the share of a reader's token expires, if the key has it; else nil, and 0: the token holds nothing there, or -1:
-- another one does. `value` is what GET has told of the key, which is not this token.
local function find_share(key, token, value)
    if value == false then
        return nil, 0
    end
    if type(value) == 'string' then
        return nil, is_reader(token) and is_reader(value) and 0 or -1  -- another reader is not in a reader's place
    end
    local expires = redis.pcall('zscore', key, token)  -- a key of another type may have readers
    if type(expires) == 'table' or not is_reader(token) then
        return nil, -1
    end
    return expires and tonumber(expires), 0
end

-- Whether the key has what was this reader's token when it was a writer's.
local function is_former(value, token)
    return type(value) == 'string' and 'reader:' .. value == token
end
