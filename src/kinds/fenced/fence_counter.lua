-- A lock's fence counter. An existing counter advances in step with those of other instances, so that they
-- agree. A new counter begins behind no other.

-- Returns the next value of the counter `key`. It is at least `least`, and never goes back. If `least` is 0,
-- it is at least the current second. For a writer, it is then more than before. For a reader, it is the value
-- of the last writer, unless that is behind the current second. Older data may have come back, with a counter
-- behind the last writer's. Returns nil if there is no next value. The second result says whether the counter
-- exists. Changes nothing.
local function next_count(key, least, is_counted)
    local time = redis.call('time')
    local second = time[1] * 2 ^ 20
    local text = redis.pcall('get', key)
    local counter
    -- mutant: counter_of_a_stranger
    if text == false then
        -- mutant: counters_begin_at_one
        counter = math.max(second + time[2], least)
    elseif type(text) == 'string' and string.find(text, '^%d+$') then
        counter = math.max(tonumber(text), least)
        if least == 0 then
            -- mutant: reader_believes_an_old_counter, counter_stands_still
            counter = math.max(counter + (is_counted and 1 or 0), second)
        end
    end
    -- A reader must leave a number for the next writer.
    if counter == nil or counter >= (is_counted and 2 ^ 53 or 2 ^ 53 - 1) then
        return nil
    end
    return counter, text ~= false
end

-- Raises an error if the server refuses to write the counter. Changes nothing.
local function try_count(key, is_there)
    redis.call('set', key, '', is_there and 'nx' or 'xx', 'px', 1)
end

-- Writes the counter and keeps it for `ttl` milliseconds.
local function keep_count(key, counter, ttl)
    -- mutant: counter_without_ttl
    redis.call('set', key, string.format('%.0f', counter), 'px', ttl)
end

-- Advances the counter. Returns it, or nil if there is no next value.
local function move_on(key, least, ttl, is_counted)
    local counter = next_count(key, least, is_counted)
    if counter then
        keep_count(key, counter, ttl)
    end
    return counter
end

local function cannot_go_on()
    return redis.error_reply('FENCE the fence counter holds no number below 2^53 to go on with')
end
