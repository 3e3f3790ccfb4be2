-- Releases the permits of tokens, in this order. Several keys are not sent to clusters. A permit that has
-- ended stays there until another token gets its slot.
--
-- KEYS[i]  A key.
-- ARGV[i]  Its token.
-- Returns  1 if all were released. Otherwise a text with one of these characters for each key:
-- * '1': released.
-- * '0': the token does not have its permits there.
-- * '-': another lock has the key.
-- * '!': no lock wrote the key.
-- * 'e': the server refused a command, and nothing was changed there.

-- A usual case: each token is the only holder of its key, so two commands are enough.
local ours = true
local values = redis.call('mget', unpack(KEYS))
for i, value in ipairs(values) do
    if value ~= ARGV[i] then
        ours = false
        break
    end
end
if ours and redis.call('del', unpack(KEYS)) == #KEYS then
    return 1
end

-- Releases the only permit of a token from a set, which is the usual case with other holders.
-- Returns whether it did.
local function release_from_set(key, token)
    if not string.find(token, '^permit:%d+%*1:') or type(redis.pcall('zscore', key, token)) ~= 'string' then
        return false
    end
    -- mutant: release_of_all_permits
    if redis.call('zcard', key) == 2 then
        redis.call('del', key)
    else
        redis.call('zrem', key, token)
    end
    return true
end

-- Calls a function for one key. If there are several keys, a failed release does not keep the others
-- from being released.
local function attempt(what, key, token)
    if #KEYS == 1 then
        return true, what(key, token)
    end
    return pcall(what, key, token)
end

local answers, others = {}, {}
local deleted = {}
for i, key in ipairs(KEYS) do
    if ours and not deleted[key] then  -- DEL has just released it. The key is listed twice.
        deleted[key] = true
        answers[i] = '1'
    else
        local done, released = true, false
        if not values[i] then
            done, released = attempt(release_from_set, key, ARGV[i])
        end
        if not done or released then
            answers[i] = done and '1' or 'e'
        else
            others[#others + 1] = i
        end
    end
end
if #others == 0 then
    return #KEYS == 1 and 1 or table.concat(answers)
end

--@include ../look.lua
--@include ../other_lock.lua
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
    return remove(key, token, count) == count and '1' or '0'
end

for _, i in ipairs(others) do
    local done, answer = attempt(release, KEYS[i], ARGV[i])
    answers[i] = done and answer or 'e'
end
return table.concat(answers)
