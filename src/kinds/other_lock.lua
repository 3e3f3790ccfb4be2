-- Identifies the lock that has a key of another kind than the script's. Needs look.lua.

-- Returns the reply about such a key. The reply to GET is `value`: a string, or an error if the key has
-- another type. If colock wrote the key, the reply is 'of' and the lock. For another string it is -1. For any
-- other type it is 'holds' and the type that TYPE reports, or -1 if the server refuses TYPE.
local function written_by_another(key, value)
    if type(value) == 'string' then
        local limit = string.match(value, '^permit:(%d%d?%d?%d?)%*%d+:%x*')
        if limit then
            return redis.status_reply('of semaphore_of_' .. limit .. '_permits')
        elseif string.find(value, '^reader:%x+') then
            return redis.status_reply('of shared_mutex')
        end
        if string.sub(value, 1, 5) == 'done:' then
            return redis.status_reply('of result_of_once')
        end
        local digits = string.match(value, '^%x+')
        local is_mutex = digits and #digits == 40 and string.find(value, '^@?[!-~]*$', 41)
        return is_mutex and redis.status_reply('of mutex') or -1
    end
    local first = look('zrange', key, 0, 0)[1]
    local limit = first and string.match(first, '^semaphore:(%d%d?%d?%d?)$')
    if limit then
        return redis.status_reply('of semaphore_of_' .. limit .. '_permits')
    elseif first and (string.find(first, '^reader:%x+') or string.find(first, '^writer:%d+$')) then
        return redis.status_reply('of shared_mutex')
    end
    local writes = look('hget', key, 'w')
    if type(writes) == 'string' and string.find(writes, '^ %x+:%d+:%d+') then
        return redis.status_reply('of versioned_value')
    end
    local kind = redis.pcall('type', key)
    return kind.ok and redis.status_reply('holds ' .. kind.ok) or -1
end
