-- Acquires a reader's share of a lock's key. The first reader holds the key as a string, as its SET with NX
-- writes it. With the second reader, the key becomes a sorted set: see lock_key.lua.
--
-- KEYS[1]  The key.
-- KEYS[2]  For a fenced lock: the counter.
-- ARGV[1]  The token: 'reader:', 40 hexadecimal digits, and optionally '@' and a label.
-- ARGV[2]  The ttl in milliseconds.
-- ARGV[3]  A name in the key's slot. A set is made there before it replaces the key.
-- ARGV[4]  For a fenced lock: the smallest value for the counter.
-- ARGV[5]  For a fenced lock: how long to keep the counter, in milliseconds.
-- Returns  One of these replies:
-- * OK, or the counter of a fenced lock.
-- * -1: another token holds the key.
-- * -2: a writer waits.
-- * '@<label>': another token holds the key, and has this label.
-- * 'of <lock>': a lock of another kind has the key.
-- * 'holds <type>': no lock wrote the key.

--@include ../look.lua
--@include ../lock_key.lua
--@include ../fenced/fence_counter.lua

local key, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- The key must be free, or have readers and no waiting writer.
local value = look('get', key)
local left = redis.call('pttl', key)
local set
if type(value) == 'table' then  -- An error: the key has another type.
    set = read_set(key)
    if not set then
        return held_by_another(key, value)
    end
    -- mutant: mark_is_ignored
    if is_marked(set) then
        -- mutant: mark_keeps_one_out, mark_renewed_by_readers
        return -2
    end
-- mutant: reader_joins_a_writer
elseif value and value ~= token and (not is_reader(value) or left < 0) then
    return held_by(value)
end
local is_first = value == false or set and set.readers <= set.now

-- All commands that may be refused come before the first write that stays.
local counter, is_counted
if KEYS[2] then
    counter, is_counted = next_count(KEYS[2], tonumber(ARGV[4]), false)
    if counter == nil then
        return cannot_go_on()
    end
    try_count(KEYS[2], is_counted)
end
-- mutant: counter_before_the_checks
local joins = not is_first and value ~= token
local ends
if joins and set then
    ends = math.max(set.now + ttl, share_of(key, token, set) or 0)  -- Does not shorten an existing share.
    -- mutant: share_without_a_try
    prepare(key, set, token, ends)
elseif joins then
    local failed = make_set(key, ARGV[3], value, left, token, ttl, 1)
    if failed then
        return failed
    end
elseif not is_first then
    redis.call('pexpire', key, math.max(ttl, left))
end

if counter then
    keep_count(KEYS[2], counter, ARGV[5])
end
if is_first then
    -- mutant: share_without_ttl
    redis.call('set', key, token, 'px', ttl)
elseif joins and set then
    put(key, set, token, ends)
elseif joins then
    redis.call('rename', ARGV[3], key)
end
return counter or redis.status_reply('OK')
