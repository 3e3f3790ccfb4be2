-- Compare-and-delete: ends a token's hold on a lock's key. `value` is what GET has answered. Needs lock_key.lua. Returns 1 released;
-- 0 the token holds nothing there; or that of held_by_another.
local function release_key(key, token, value)
    if value == token or is_former(value, token) then
        redis.call('del', key)
        return 1
    end
    local set, without = find_set(key, token, value)
    if not set then
        return without
    end
    local ends = redis.call('zscore', key, token)
    if not ends then
        return 0
    end
    remove(key, set, token)
    return tonumber(ends) > set.now and 1 or 0
end
