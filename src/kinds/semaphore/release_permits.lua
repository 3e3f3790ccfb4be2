-- Gives back the permits of tokens, in this order. Several keys are not sent to clusters.
--
-- KEYS[i]  a key
-- ARGV[i]  its token
-- Returns  1 all released; else a text with an answer for each: '1' released, '0' the token has none there, '-' another lock has the
--          key, '!' no lock wrote it

-- As it often is: all of them are held by their tokens alone, so that two commands are enough.
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

--@include permits.lua

local function release(key, token)
    local limit, count = parse(token)
    local held, answer = read_permits(key, limit)
    if not held then
        return answer ~= -1 and string.sub(answer.ok, 1, 5) == 'holds' and '!' or '-'
    end
    if held.sole == token then
        redis.call('del', key)
        return '1'
    elseif not held.ends then
        return '0'
    end
    local own = permits_of(token, key, held)
    remove(key, token, count)
    return own and '1' or '0'
end

local answers = {}
local deleted = {}
for i, key in ipairs(KEYS) do
    if ours and not deleted[key] then  -- it was, just now; and the key is there twice
        deleted[key] = true
        answers[i] = '1'
    else
        answers[i] = release(key, ARGV[i])
    end
end
return table.concat(answers)
