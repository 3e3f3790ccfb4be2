-- Compare-and-delete: ends a token's hold on a lock's key. `value` is what GET has answered. Needs readers.lua. Returns 1 released;
-- 0 the token holds nothing there; -1 another token does.
local function release_key(key, token, value)
    if value == token or is_former(value, token) then
        redis.call('del', key)
        return 1
    end
    if value == false then
        return 0
    end
    if not is_reader(token) then
        return -1
    end
    if type(value) == 'string' then
        return is_reader(value) and 0 or -1  -- another reader is not in a reader's place
    end
    local set = read_set(key)
    if not set then
        return -1  -- nothing of ours
    end
    if not redis.call('zscore', key, token) then
        return 0
    end
    local held = share_of(key, token, set)
    remove(key, set, token)
    return held and 1 or 0
end
