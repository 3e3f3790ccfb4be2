-- Writes a record if it has the version that the writer expects. A write that is sent again is
-- carried out once.
--
-- KEYS[1]  The key.
-- ARGV[1]  The id of the write, in hexadecimal digits.
-- ARGV[2]  The version that it expects. 0 means that there is no record.
-- ARGV[3]  How long the value lives, in milliseconds. 0 means indefinitely.
-- ARGV[4]  The longest value that the client accepts, in bytes.
-- ARGV[5]  The value. Without it, the record is erased.
-- Returns  One of these replies, where <record> is a reply of read.lua:
-- * The version that the write has made.
-- * 'r <record>': the write was not carried out, and never will be.
-- * 'u <record>': the write was not carried out now. It is unknown whether an earlier copy was.
-- * Otherwise as read.lua.

--@include ../look.lua
--@include ../other_lock.lua
--@include record.lua

local key, id, expected, ttl, value = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5]

local record, answer = read_record(key)
if not record then
    return answer
end

-- Writes existing data again. This needs no memory. The server then refuses no later write of the script
-- for lack of memory.
local function touch()
    if record.left >= 0 then
        redis.call('pexpire', key, math.max(record.left, 1))
    else
        redis.call('persist', key)
    end
    redis.call('hset', key, 'v', record.text)
end

-- mutant: write_compares_values
if expected ~= record.version then
    -- Versions never recur. Therefore a write that was carried out always finds another version.
    local at = string.find(record.writes, ' ' .. id .. ':', 1, true)
    local made = at and number_in(string.match(record.writes, ':%d+:(%d+)', at))
    if made then
        touch()  -- Replicas that acknowledge this also have the write.
        return made
    end
    -- All writes since the oldest kept one are there. A write from a version in between would be there too.
    local oldest = string.match(record.writes, '^ %x+:(%d+)')
    local is_certain = oldest and expected < record.version and expected >= tonumber(oldest)
    -- mutant: write_refused_where_unknown
    return state_of(key, record, ARGV[4], is_certain and 'r ' or 'u ')
end

-- A hybrid clock. A record that was lost, or an older copy of it, continues after everything that was written
-- before. This holds on any server whose clock is right. If the value has an end, the next version belongs to
-- that end. A clock that is set back may undo the end.
local time = redis.call('time')
local step = record.has_value and record.left >= 0 and 2 or 1
-- mutant: record_begins_with_version_1, record_version_by_clock_only, record_version_by_counter_only
local version = math.max(record.version + step, time[1] * 2 ^ 20 + time[2])
if version >= 2 ^ 53 - 1 then
    return redis.error_reply('RECORD the record has no version below 2^53 to go on with')
end

local text = text_of(version)
local kept, count = record.writes, record.count + 1
if count > most_writes then
    local second = string.find(kept, ' ', 2, true)
    kept, count = string.sub(kept, second or 1), most_writes
end
-- mutant: write_history_not_kept
kept = kept .. ' ' .. id .. ':' .. ARGV[2] .. ':' .. text

-- How long the key lives with the new record. If the record does not end, the key may have a ttl to lose.
-- mutant: record_without_tombstone
local life = not value and week or ttl ~= 0 and ttl + week
local may_lose_ttl = record.left >= 0

local function set_life()
    if life then
        redis.call('pexpire', key, life)
    elseif may_lose_ttl then
        redis.call('persist', key)
    end
end

-- If there are several writes, commands that may be refused come before the first write that stays. An erase
-- works without memory. For another write, HSET is tried with the existing data. If the key does not exist,
-- SET with XX is refused when there is no memory, and then PEXPIRE is tried.
if record.text and not value then
    touch()
elseif record.text and (life or may_lose_ttl) then
    redis.call('hset', key, 'v', record.text)
elseif life then
    redis.call('set', key, '', 'xx')
end
set_life()
redis.call('hset', key, 'v', text, 'd', value or '', 'e', value and '0' or '1', 'w', kept, 'n', count)
if not record.text then
    set_life()
end
return version
