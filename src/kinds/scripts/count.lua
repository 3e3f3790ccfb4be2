-- Moves a lock's fence counter on, whoever has the lock: the second half of fence.lua, for a node of a cluster that has
-- only one of the two keys while their slot moves. The caller has the lock's key already.
--
-- KEYS[1]  the counter
-- ARGV[1]  what the counter is to be at least; or 0: more than it was
-- ARGV[2]  for how many milliseconds to keep the counter
-- Returns  the counter

-- As in fence.lua.
local now = redis.call('time')
local floor = now[1] * 2 ^ 20
local least = tonumber(ARGV[1])
local text = redis.pcall('get', KEYS[1])
local counter
if text == false then
    counter = math.max(floor + now[2], least)
elseif type(text) == 'string' and string.find(text, '^%d+$') then
    local value = tonumber(text)
    counter = least == 0 and math.max(value + 1, floor) or math.max(value, least)
end
if counter == nil or counter >= 2 ^ 53 then
    return redis.error_reply('FENCE the fence counter holds no number below 2^53 to go on with')
end
redis.call('set', KEYS[1], string.format('%.0f', counter), 'px', ARGV[2])
return counter
