-- Advances a lock's fence counter. It also acquires the lock's key, or leaves the key with its holder.
--
-- KEYS[1]  The key.
-- KEYS[2]  The counter.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl in milliseconds to acquire the key with, if it does not exist. 0 leaves the key alone. The
--          counter is then advanced only if the token holds the key, even if only as a reader.
-- ARGV[3]  The smallest value for the counter. 0 means more than before.
-- ARGV[4]  How long to keep the counter, in milliseconds.
-- Returns  One of these replies:
-- * The counter.
-- * 0: the key does not exist.
-- * -1: another token holds the key.
-- * '@<label>': another token holds the key, and has this label.
-- * 'of <lock>': a lock of another kind has the key.
-- * 'holds <type>': no lock wrote the key.

--@include ../look.lua
--@include ../lock_key.lua

local function holds(key, token, value)
    if type(value) ~= 'table' then
        return value == token or is_former(value, token)
    end
    -- A share that has ended stays in the key until another reader or a writer comes.
    local set = read_set(key)
    return set and share_of(key, token, set)
end

local key, token = KEYS[1], ARGV[1]
local value = look('get', key)
if ARGV[2] ~= '0' then
    if value ~= false then
        return held_by_another(key, value)
    end
-- mutant: raise_without_token_check
elseif not holds(key, token, value) then
    return value == false and 0 or held_by_another(key, value)
end

--@include fence_counter.lua

-- The counter comes first, so that no token has a key before it is counted.
-- mutant: counter_after_the_key
local counter = move_on(KEYS[2], tonumber(ARGV[3]), ARGV[4], true)
if counter == nil then
    return cannot_go_on()
end
if ARGV[2] ~= '0' then
    redis.call('set', key, token, 'px', ARGV[2])
end
return counter
