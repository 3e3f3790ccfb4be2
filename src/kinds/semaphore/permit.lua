-- Acquires permits of a semaphore, or exactly the permits on which a quorum has agreed. It acquires all of
-- them or none. A token that gets none has none afterwards.
--
-- KEYS[1]  The key.
-- ARGV[1]  The token: see permits.lua.
-- ARGV[2]  The ttl in milliseconds.
-- ARGV[3]  'take' or 'hold'. With 'take', the token keeps its permits if their numbers are no less than
--          these. Otherwise it gets the nearest free permits whose numbers are no less. With 'hold', it
--          gets exactly these.
-- ARGV[4]  The numbers in increasing order, each followed by a space. Empty for any numbers.
-- ARGV[5]  A name in the key's slot. A set is made there before it replaces the key.
-- ARGV[6]  The member for the clock of a set.
-- ARGV[7]  To take one permit: the smallest score in the slot of that number.
-- ARGV[8]  To take one permit: the largest score in that slot.
-- ARGV[9]  To take one permit: the number of slots.
-- Returns  One of these replies:
-- * The number of one permit, or for several permits a text like ARGV[4].
-- * -1: too few permits are free, or a string that is no lock has the key.
-- * 'of <lock>': another lock has the key, or a semaphore with another limit.
-- * 'holds <type>': no lock wrote the key.

-- mutant: heal_takes_any_number
local key, token, ttl, exactly = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3] == 'hold'

-- The usual case with other holders: the token has no permit, and the set lives for long enough. Of eight
-- slots from the given one on, one has no member, and no member before that has ended. This path takes a
-- third of the time of the rest.
local score = ARGV[7] and redis.pcall('zscore', key, ARGV[6])
local left = type(score) == 'string' and redis.call('pttl', key)
if left and left >= ttl and not redis.call('zscore', key, token) then
    local now, slot, number, width = -score - left, tonumber(ARGV[7]), tonumber(ARGV[4]), 2 ^ 42
    local last, has_ended = slot + 8 * width, false
    if redis.call('zrangebyscore', key, ARGV[7], ARGV[8], 'limit', 0, 1)[1] then
        local found = redis.call('zrangebyscore', key, ARGV[7], last, 'withscores')
        for i = 2, #found, 2 do
            if found[i] - slot >= width then
                break  -- This slot has no member.
            end
            has_ended = has_ended or found[i] - slot <= now
            slot, number = slot + width, number + 1
        end
    end
    local limit = tonumber(ARGV[9])
    local is_clock = now > 0 and now < width
    if is_clock and slot < math.min(last, limit * width) and number <= limit and not has_ended then
        redis.call('zadd', key, slot + now + ttl, token)
        return number
    end
end

--@include ../look.lua
--@include ../other_lock.lua
--@include permits.lua

local limit, count, preferred = parse(token)
local held, answer = read_permits(key, limit)
if not held then
    return answer
end
if held.sole and held.sole ~= token and held.left < 0 then
    return -1  -- Another program removed its ttl, so its end is unknown.
end
local own, life = permits_of(token, key, held)

local function slot_of(number)
    return (preferred + number - 1) % limit
end

-- The members of the slots of a set, as far as they were read.
local found = {}
local function read_slots(first, last)
    local scores = redis.call('zrangebyscore', key, string.format('%.0f', first * span),
        string.format('(%.0f', (last + 1) * span), 'withscores')
    for i = 1, #scores, 2 do
        local slot, ends = math.floor(scores[i + 1] / span), scores[i + 1] % span
        if not found[slot] or found[slot].ends < ends then
            found[slot] = {ends = ends, member = scores[i]}
        end
    end
end

local is_own = {}
for _, number in ipairs(own or {}) do
    is_own[slot_of(number)] = true
end
if held.sole and held.sole ~= token then
    local _, _, sole = parse(held.sole)
    -- mutant: string_is_one_of_many
    found[sole] = {ends = 1, member = held.sole}
end

-- A few slots are read at first, and then more and more.
local width, unread = 1, 1
local function is_free(number)
    if held.ends and number >= unread then
        local first = slot_of(number)
        local last = math.min(first + width, limit) - 1
        read_slots(first, last)
        unread = number + last - first + 1
        width = math.min(2 * width, 64)
    end
    local there = found[slot_of(number)]
    -- mutant: dead_permit_stays, permit_ends_by_another_time
    return not there or is_own[slot_of(number)] or (held.ends and there.ends <= held.now)
end

local numbers = {}
for number in string.gmatch(ARGV[4], '%d+') do
    numbers[#numbers + 1] = tonumber(number)
end
local keeps = own ~= nil
for i = 1, count do
    local least = numbers[i] or 1
    keeps = keeps and (exactly and own[i] == least or not exactly and own[i] >= least)
end

local got, stale, last = keeps and own or {}, {}, 0
for i = keeps and count + 1 or 1, count do
    -- mutant: later_round_moves_back
    local number = math.max(numbers[i] or 1, last + 1)
    while number <= limit and not is_free(number) do
        number = exactly and limit or number
        number = number + 1
    end
    -- mutant: some_of_several_permits, one_permit_too_many
    if number > limit then
        got = nil
        break
    end
    got[i], last = number, number
    local there = found[slot_of(number)]
    if there and string.sub(there.member, 1, #token) ~= token then
        stale[#stale + 1] = there.member
    end
end

-- mutant: heal_keeps_another_number
if not got then
    if held.sole == token then
        redis.call('del', key)
    elseif held.ends then
        remove(key, token, count)
    end
    return -1
end

-- mutant: late_take_shortens_permits
life = math.max(ttl, life or 0)  -- Commands may be executed out of order.
local answered = count == 1 and got[1] or table.concat(got, ' ') .. ' '
if count == 1 and got[1] == 1 and (held.sole == token or not held.sole and not held.ends) then
    if not held.sole then
        redis.call('set', key, token, 'px', life)
    elseif held.left < life then
        redis.call('pexpire', key, life)
    end
    return answered
end

if held.ends then
    local scores = {}
    for i = 1, count do
        scores[2 * i - 1] = slot_of(got[i]) * span + held.now + life
        scores[2 * i] = member(token, i)
    end
    redis.call('zadd', key, 'xx', 0, '')
    redis.call('zrem', key, '')
    prolong(key, limit, held, life)
    redis.call('zadd', key, unpack(scores))
    if stale[1] then
        redis.call('zrem', key, unpack(stale))
    end
    return answered
end

-- A new set is written next to the key, and then replaces it by one command. The key therefore exists
-- at every moment, even if the server refuses a command. The commands that a set needs later are
-- tried on it first.
local place = redis.pcall('pttl', ARGV[5])
if type(place) == 'table' then
    -- A node that is moving the slot refuses each command on a key that it does not have.
    local moves = string.find(place.err, 'non local key')
    return moves and redis.error_reply('TRYAGAIN the slot of the lock is being moved') or place
end
if place ~= -2 then
    return redis.error_reply('PERMITS the key ' .. ARGV[5] .. ' was not written by colock')
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)  -- Its clock begins with the server's.
local whole = math.max(2 * life, held.left or 0)
local add = {'zadd', ARGV[5], -(now + whole), clock_of(limit)}
for i = 1, count do
    add[#add + 1] = slot_of(got[i]) * span + now + life
    add[#add + 1] = member(token, i)
end
if held.sole and held.sole ~= token then
    local _, _, sole = parse(held.sole)
    add[#add + 1] = sole * span + now + held.left
    add[#add + 1] = held.sole
end
redis.call('zadd', ARGV[5], 'xx', 0, '')
redis.call('del', ARGV[5])
for _, command in ipairs({
    add,
    {'pexpire', ARGV[5], whole},
    {'zscore', ARGV[5], token},
    {'zrange', ARGV[5], 0, 0},
    {'zrangebyscore', ARGV[5], 1, 0},
    {'zrem', ARGV[5], ''},
    {'zcard', ARGV[5]},
    {'rename', ARGV[5], key},
}) do
    local result = redis.pcall(unpack(command))
    if type(result) == 'table' and result.err then
        redis.call('del', ARGV[5])
        return result
    end
end
return answered
