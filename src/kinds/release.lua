-- Compare-and-delete: ends a token's hold on a lock's key, if there is one.
--
-- KEYS[1]  the key: a string, the token that holds it; or a sorted set of readers' tokens
-- ARGV[1]  the token
-- Returns  1 released; 0 the token holds nothing there; -1 another token does; '@<label>' likewise, if that token has a label;
--          'holds <type>' no lock wrote the key

-- As it nearly always is: the token alone holds it.
local value = redis.pcall('get', KEYS[1])
if value == ARGV[1] then
    redis.call('del', KEYS[1])
    return 1
end

--@include look.lua
--@include lock_key.lua
--@include release_key.lua

value = type(value) == 'table' and look('get', KEYS[1]) or value  -- raises the error if the type is right

return release_key(KEYS[1], ARGV[1], value)
