-- Takes back the mark of a writer that waits no more.
--
-- KEYS[1]  the key
-- Returns  1 there was a mark; 0 there was none

--@include parts/readers.lua

local key = KEYS[1]
if not has_readers(key) or redis.call('zrem', key, 'writer') == 0 then
    return 0
end
live_with_last(key)
return 1
