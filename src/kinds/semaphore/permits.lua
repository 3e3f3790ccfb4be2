-- The permits of a semaphore's key. A token is `permit:<limit>*<count>:`, 40 hexadecimal digits, and
-- optionally '@' and a label. It asks for `count` of `limit` permits. Each permit is a slot. The first digits
-- of a token determine its preferred slot, which has number 1. The following slots have the following
-- numbers, cyclically.
--
-- If a single token has a single permit, with number 1, the key is a string: the token. Otherwise it is a
-- sorted set of tokens. The second permit of a token is the member `<token>/2`, and so on. A score is the
-- slot times 2^42, plus the time in milliseconds at which the permit ends. Two members never have the same
-- slot, unless one of them has ended.
--
-- A set has its own clock, because the servers between which a key moves may have different times. The member
-- `semaphore:<limit>` has the negative of the time at which the key expires. The clock therefore shows that
-- time minus the key's PTTL.

local span = 2 ^ 42

local function parse(token)
    local limit, count, digits = string.match(token, '^permit:(%d%d?%d?%d?)%*(%d%d?%d?%d?):(%x*)')
    if limit then
        return tonumber(limit), tonumber(count), (tonumber(string.sub(digits, 1, 8), 16) or 0) % limit
    end
end

local function clock_of(limit)
    return 'semaphore:' .. limit
end

-- Returns the member for one of a token's permits. The first index is 1.
local function member(token, index)
    return index == 1 and token or token .. '/' .. index
end

local function members_of(token, count)
    local members = {}
    for i = 1, count do
        members[i] = member(token, i)
    end
    return members
end

-- Reads the key. Returns `{}` if it does not exist, and `{sole = token, left = its PTTL}` for a string.
-- Returns `{ends = ..., now = ...}` for a set. Otherwise returns nil and the reply of written_by_another.
local function read_permits(key, limit)
    local score = look('zscore', key, clock_of(limit))
    if type(score) == 'string' then
        local left = redis.call('pttl', key)
        local now = -score - left
        if left < 0 or now <= 0 or now >= span then  -- Another program removed its ttl, or wrote the clock.
            return nil, redis.status_reply('holds zset')
        end
        return {ends = -score, now = now}
    end
    local value = look('get', key)
    if value == false then
        return {}
    end
    -- mutant: limit_is_not_compared
    if type(value) == 'string' and parse(value) == limit then
        local left = redis.call('pttl', key)
        if left < span then
            return {sole = value, left = left}
        end
    end
    return nil, written_by_another(key, value)
end

-- Returns the numbers of a token's permits, and their remaining time. Returns nil if the token does
-- not have `count`.
local function permits_of(token, key, held)
    local limit, count, preferred = parse(token)
    if held.sole then
        if held.sole == token and count == 1 then
            return {1}, held.left
        end
        return nil
    end
    if not held.ends then
        return nil
    end
    local numbers, life = {}, nil
    for i = 1, count do
        local score = redis.call('zscore', key, member(token, i))
        life = score and score % span - held.now
        if not score or not (life > 0) then  -- A score without end has no number as its rest.
            return nil
        end
        numbers[i] = (math.floor(score / span) - preferred) % limit + 1
    end
    return numbers, life
end

-- Makes the set live for at least `life` from now on. It lives twice as long, so that few renewals have to do
-- this. The ttl is set before the clock, so that the clock never runs fast.
local function prolong(key, limit, held, life)
    -- mutant: newcomer_cuts_the_others
    if held.now + life > held.ends then
        redis.call('pexpire', key, 2 * life)
        -- mutant: clock_is_not_moved
        redis.call('zadd', key, -(held.now + 2 * life), clock_of(limit))
    end
end

-- Removes a token's permits from a set by one command. The key is deleted with its last member. Returns the
-- number of removed permits.
local function remove(key, token, count)
    local there = {}
    -- mutant: release_leaves_permits
    for _, one in ipairs(members_of(token, count)) do
        if redis.call('zscore', key, one) then
            there[#there + 1] = one
        end
    end
    if there[1] and redis.call('zcard', key) == #there + 1 then
        redis.call('del', key)
    elseif there[1] then
        redis.call('zrem', key, unpack(there))
    end
    return #there
end
