-- Compare-and-delete for many keys at once: what release.lua does for each, in this order.
--
-- KEYS[i]  a key
-- ARGV[i]  its token
-- Returns  1 all deleted; else a string with an answer for each: '1' deleted, '0' there is no such key,
--          '-' it holds something else

-- As it nearly always is: all of them are ours, so that two commands are enough.
local ours = true
for i, value in ipairs(redis.call('mget', unpack(KEYS))) do
    if value ~= ARGV[i] then
        ours = false
        break
    end
end
if ours and redis.call('del', unpack(KEYS)) == #KEYS then
    return 1
end

local answers = {}
local deleted = {}
for i, key in ipairs(KEYS) do
    local value = redis.pcall('get', key)
    if ours and not deleted[key] then  -- it was, just now; and the key is there twice
        deleted[key] = true
        answers[i] = '1'
    elseif value == ARGV[i] then
        redis.call('del', key)
        answers[i] = '1'
    else
        answers[i] = value == false and '0' or '-'
    end
end
return table.concat(answers)
