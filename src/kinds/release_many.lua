-- Compare-and-delete for many keys at once: what release.lua does for each, in this order. It is not sent to clusters.
--
-- KEYS[i]  a key
-- ARGV[i]  its token
-- Returns  1 all released; else a string with an answer for each: '1' released, '0' the token holds nothing there,
--          '-' another token does, '!' no lock wrote the key, 'e' the server refused a command, and nothing was changed there

-- As it nearly always is: all of them are held by their tokens alone, so that two commands are enough.
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

--@include look.lua
--@include lock_key.lua
--@include release_key.lua

local letters = {[1] = '1', [0] = '0', [-1] = '-'}
local answers = {}
local deleted = {}
for i, key in ipairs(KEYS) do
    if ours and not deleted[key] then  -- it was, just now; and the key is there twice
        deleted[key] = true
        answers[i] = '1'
    else
        local done, answer = pcall(function()
            return release_key(key, ARGV[i], look('get', key))
        end)
        answers[i] = not done and 'e' or letters[answer] or string.sub(answer.ok, 1, 5) == 'holds' and '!' or '-'
    end
end
return table.concat(answers)
