-- Which lock has a key that is not of the kind that a script works on. Needs look.lua.

-- The answer about such a key. `value` is what GET has answered: a string, or an error for a key of another type. 'of' and the lock, if
-- it is one of ours; 'holds' and the type that TYPE reports; -1 for another string, or if the server refuses TYPE.
local function written_by_another(key, value)
    if type(value) == 'string' then
        local limit = string.match(value, '^permit:(%d+)%*%d+:%x*')
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
    local limit = first and string.match(first, '^semaphore:(%d+)$')
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
