-- Compare-and-delete: has a token hold a lock's key no more, if it still does. Needs readers.lua.
-- Returns 1 released; 0 the token holds nothing there; -1 another one does.
local function release_key(key, token)
    local value = redis.pcall('get', key)
    -- The second: it was a writer's, and was to become a reader's.
    if value == token or type(value) == 'string' and 'reader:' .. value == token then
        redis.call('del', key)
        return 1
    end
    if value == false then
        return 0
    end
    if type(value) == 'string' then
        return is_reader(token) and is_reader(value) and 0 or -1  -- another reader is not in a reader's place
    end

    -- An error: a key of another type. It may have readers.
    local expires = redis.pcall('zscore', key, token)
    if type(expires) == 'table' or not is_reader(token) then
        return -1
    end
    if not expires then
        return 0
    end
    redis.call('zrem', key, token)
    live_with_last(key)
    return tonumber(expires) > now_in_ms() and 1 or 0
end
