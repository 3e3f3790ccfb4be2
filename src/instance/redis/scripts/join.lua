-- Joins the line for a lock, or makes sure of the place in it.
--
-- KEYS[1]  the line: a list of numbers, the longest waiting first
-- KEYS[2]  our ticket: there as long as we wait, and live
-- ARGV[1]  our number
-- ARGV[2]  for how many milliseconds to keep the ticket, and the line
-- ARGV[3]  what the name of a ticket begins with; then comes the number. (Those of others cannot be among the
--          keys: only the line knows their numbers. They are in the slot of the line.)
-- Returns  the number of the one before us; 0 there is none

-- Written only now and then: to write it tells the one behind us that it has changed.
if redis.call('pttl', KEYS[2]) < ARGV[2] / 2 then
    redis.call('set', KEYS[2], '', 'px', ARGV[2])
end

local at = redis.call('lpos', KEYS[1], ARGV[1])
if not at then
    at = redis.call('rpush', KEYS[1], ARGV[1]) - 1
end
redis.call('pexpire', KEYS[1], ARGV[2])

while at > 0 do
    at = at - 1
    local before = redis.call('lindex', KEYS[1], at)
    if redis.call('exists', ARGV[3] .. before) == 1 then
        return tonumber(before)
    end
    redis.call('lrem', KEYS[1], 1, before)  -- it has died
end
return 0
