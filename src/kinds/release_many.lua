-- Compare-and-delete for several keys. It does the same as one release.lua for each key, in this order. It is
-- not sent to clusters.
--
-- KEYS[i]  A key.
-- ARGV[i]  Its token.
-- Returns  1 if all keys were released. Otherwise a string with one of these characters for each key:
-- * '1': released.
-- * '0': the token holds nothing there.
-- * '-': another token holds the key.
-- * '!': no lock wrote the key.
-- * 'e': the server refused a command, and nothing was changed there.

-- The usual case: each token is the only holder of its key, so two commands are enough.
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
    if ours and not deleted[key] then  -- DEL has just released it. The key is listed twice.
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
