-- Compare-and-delete for many keys at once: what release.lua does for each, in this order.
--
-- KEYS[i]  a key
-- ARGV[i]  its token
-- Returns  1 all released; else a string with an answer for each: '1' released, '0' the token holds nothing there,
--          '-' another one does

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

-- As in release.lua.
local function release(key, token)
    local value = redis.pcall('get', key)
    if value == token or (type(value) == 'string' and 'reader:' .. value == token) then
        redis.call('del', key)
        return '1'
    end
    if type(value) ~= 'table' then
        local reads = value and string.find(token, '^reader:') and string.find(value, '^reader:%x+$')
        return (value == false or reads) and '0' or '-'
    end
    local expires = redis.pcall('zscore', key, token)
    if type(expires) == 'table' or not string.find(token, '^reader:') then
        return '-'
    end
    if not expires then
        return '0'
    end
    redis.call('zrem', key, token)
    local last = redis.call('zrange', key, -1, -1, 'withscores')[2]
    if last then
        redis.call('pexpireat', key, last)
    end
    local time = redis.call('time')
    return tonumber(expires) > time[1] * 1000 + math.floor(time[2] / 1000) and '1' or '0'
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
