-- Compare-and-delete: ends the hold of a token on a lock's key. The reply to GET is `value`. Needs
-- lock_key.lua. Returns 1 if the hold was ended, and 0 if the token holds nothing there. Otherwise returns
-- the reply of held_by_another.
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
        -- mutant: ended_share_is_released
        return 0
    end
    remove(key, set, token)
    return tonumber(ends) > set.now and 1 or 0
end
