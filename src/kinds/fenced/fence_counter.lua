-- A lock's fence counter. One that is there moves in step with those of other instances, so that they agree. One that is missing
-- begins behind no other.

-- Where the counter `key` goes: to `least`, but never back. If `least` is 0, it moves to the current second at least. A writer counts:
-- the counter moves to more than it was. A reader sees it as the last writer has left it, unless it is behind the current second:
-- older data may have come back, with a counter that is behind the last writer's.
-- Returns nil if it cannot go on. The second result says whether there is a counter. Changes nothing.
local function next_count(key, least, is_counted)
    local time = redis.call('time')
    local second = time[1] * 2 ^ 20
    local text = redis.pcall('get', key)
    local counter
    if text == false then
        counter = math.max(second + time[2], least)
    elseif type(text) == 'string' and string.find(text, '^%d+$') then
        counter = math.max(tonumber(text), least)
        if least == 0 then
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

-- Writes the counter, which is kept for `ttl` milliseconds.
local function keep_count(key, counter, ttl)
    redis.call('set', key, string.format('%.0f', counter), 'px', ttl)
end

-- Moves the counter on. Returns it; nil if it cannot go on.
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
