-- Takes a reader's share of a lock's key. The first reader holds it as a string, which is what its SET with NX has
-- written; with the second, the key becomes a sorted set of the readers' tokens, by the times at which they expire.
--
-- KEYS[1]  the key
-- KEYS[2]  if it is fenced: the counter
-- ARGV[1]  the token: 'reader:' and hexadecimal digits
-- ARGV[2]  the ttl in milliseconds
-- ARGV[3]  if it is fenced: what the counter is to be at least
-- ARGV[4]  if it is fenced: for how many milliseconds to keep the counter
-- Returns  OK, or if it is fenced the counter; -1 it holds something else; -2 a writer waits

--@include parts/readers.lua
--@include parts/fence_counter.lua

local key, token = KEYS[1], ARGV[1]
local now, time = now_in_ms()

-- The key must be free, or have readers and no waiting writer. `sole` is a reader that holds it as a string.
local value = redis.pcall('get', key)
local sole
if type(value) == 'string' then
    if value ~= token then
        if not is_reader(value) then
            return -1
        end
        sole = value
        local forbidden = is_forbidden(key)
        if forbidden then
            return forbidden
        end
    end
elseif value then  -- an error: a key of another type
    if not has_readers(key) then
        return -1  -- nothing of ours
    end
    drop_expired(key, now)
    if is_marked(key, now) then
        return -2
    end
end

-- A reader sees the counter as the last writer has left it.
local counter
if KEYS[2] then
    counter = move_on(KEYS[2], tonumber(ARGV[3]), ARGV[4], time, false)
    if counter == nil then
        return cannot_go_on()
    end
end

if value == false or value == token then
    redis.call('set', key, token, 'px', math.max(tonumber(ARGV[2]), redis.call('pttl', key)))
else
    if sole then
        make_set(key, sole, now)
    end
    local expires = redis.call('zscore', key, token) or 0  -- a share that is taken again is not shortened
    redis.call('zadd', key, math.max(now + ARGV[2], tonumber(expires)), token)
    live_with_last(key)
end
return counter or redis.status_reply('OK')
