-- Compare-and-delete: has a token hold a lock's key no more, if it still does. `value` is what GET has told of the key. Needs
-- readers.lua. Returns 1 released; 0 the token holds nothing there; -1 another one does.
local function release_key(key, token, value)
    if value == token or is_former(value, token) then
        redis.call('del', key)
        return 1
    end
    local expires, without = find_share(key, token, value)
    if not expires then
        return without
    end
    redis.call('zrem', key, token)
    live_with_last(key)
    return expires > now_in_ms() and 1 or 0
end
