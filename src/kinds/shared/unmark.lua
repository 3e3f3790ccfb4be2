-- Removes the mark of a writer that no longer waits.
--
-- KEYS[1]  The key.
-- ARGV[1]  The number of its client.
-- Returns  1 if there was a mark of this client, otherwise 0.

--@include ../look.lua
--@include ../lock_key.lua

local set = read_set(KEYS[1])
local mark = 'writer:' .. ARGV[1]
if not set or not redis.call('zscore', KEYS[1], mark) then
    return 0
end
-- mutant: mark_of_another_taken
remove(KEYS[1], set, mark)
return 1
