-- Compare-and-delete for locks with several names. Deletes all names of each lock that its token holds.
--
-- KEYS        The names of all locks. Those of one lock are adjacent.
-- ARGV[2i-1]  The token of a lock.
-- ARGV[2i]    The number of names of this lock.
-- Returns     1 if all locks were released. Otherwise a string with one of these characters for each lock:
-- * '1': released.
-- * '0': the token did not hold all its names, and nothing else holds one.
-- * '-': something else has a name.

-- The usual case: each token holds all its names, so two commands are enough. The user may lack
-- the right to MGET.
local values = redis.pcall('mget', unpack(KEYS))
local ours = not values.err
local at = 0
for i = 1, #ARGV, 2 do
    for j = at + 1, at + ARGV[i + 1] do
        ours = ours and values[j] == ARGV[i]
    end
    at = at + ARGV[i + 1]
end
if ours and redis.call('del', unpack(KEYS)) == #KEYS then
    return 1
end

--@include ../look.lua

local answers = {}
at = 0
for i = 1, #ARGV, 2 do
    local answer = '1'
    for j = at + 1, at + ARGV[i + 1] do
        local value = look('get', KEYS[j])
        if value == ARGV[i] then
            redis.call('del', KEYS[j])
        elseif value ~= false then
            -- mutant: multi_release_stops_at_another
            answer = '-'
        elseif answer == '1' then
            answer = '0'
        end
    end
    at = at + ARGV[i + 1]
    answers[#answers + 1] = answer
end
return table.concat(answers)
