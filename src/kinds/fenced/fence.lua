-- Moves a lock's fence counter on. With that it takes the lock's key, or leaves it with its holder.
--
-- KEYS[1]  the key
-- KEYS[2]  the counter
-- ARGV[1]  the token
-- ARGV[2]  the ttl in milliseconds with which to take the key, if there is none;
--          or 0: leave the key alone, and the counter too unless the token holds the key, if only as a reader
-- ARGV[3]  what the counter must be at least; 0: more than it was
-- ARGV[4]  how long to keep the counter, in milliseconds
-- Returns  the counter; 0 there is no such key; -1 another token holds it; '@<label>' likewise, if that token has a label;
--          'holds <type>' no lock wrote it

--@include ../look.lua
--@include ../lock_key.lua

local function holds(key, token, value)
    if type(value) ~= 'table' then
        return value == token or is_former(value, token)
    end
    -- A share that has ended is in the key until another reader or a writer comes.
    local set = read_set(key)
    return set and share_of(key, token, set)
end

local key, token = KEYS[1], ARGV[1]
local value = look('get', key)
if ARGV[2] ~= '0' then
    if value ~= false then
        return held_by_another(key, value)
    end
elseif not holds(key, token, value) then
    return value == false and 0 or held_by_another(key, value)
end

--@include fence_counter.lua

-- The counter first: no token has a key before it is counted.
local counter = move_on(KEYS[2], tonumber(ARGV[3]), ARGV[4], true)
if counter == nil then
    return cannot_go_on()
end
if ARGV[2] ~= '0' then
    redis.call('set', key, token, 'px', ARGV[2])
end
return counter
