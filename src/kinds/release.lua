-- Compare-and-delete: ends the hold of a token on a lock's key.
--
-- KEYS[1]  The key. It is a string, the token that holds it, or a sorted set of readers' tokens.
-- ARGV[1]  The token.
-- Returns  One of these replies:
-- * 1: released.
-- * 0: the token holds nothing there.
-- * -1: another token holds the key.
-- * '@<label>': another token holds the key, and has this label.
-- * 'of <lock>': a lock of another kind has the key.
-- * 'holds <type>': no lock wrote the key.

-- The usual case: the token is the only holder.
local value = redis.pcall('get', KEYS[1])
-- mutant: release_without_token_check
if value == ARGV[1] then
    redis.call('del', KEYS[1])
    return 1
end

--@include look.lua
--@include lock_key.lua
--@include release_key.lua

value = type(value) == 'table' and look('get', KEYS[1]) or value  -- Raises the error unless it is WRONGTYPE.

return release_key(KEYS[1], ARGV[1], value)
