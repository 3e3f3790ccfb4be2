-- Compare-and-delete for locks with several names: deletes those names of each lock that its token holds.
--
-- KEYS         the names of all locks, those of one lock together
-- ARGV[2i-1]   the token of a lock
-- ARGV[2i]     how many names this lock has
-- Returns      1 all released; else a string with an answer for each lock: '1' released; '0' the token did not hold all its names, and
--              nothing else does; '-' something else has a name

-- As it nearly always is: all of them are held by their tokens, so that two commands are enough. MGET may be forbidden.
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
            answer = '-'
        elseif answer == '1' then
            answer = '0'
        end
    end
    at = at + ARGV[i + 1]
    answers[#answers + 1] = answer
end
return table.concat(answers)
