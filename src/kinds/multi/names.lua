-- Returns the reply for a lock with several names if something else has one of them. It is 'at', the
-- number of that name, and the answer about it. The answer '-' stands for a holder without a label.
-- Needs lock_key.lua.
local function denied_at(number, answer)
    return redis.status_reply('at ' .. number .. ' ' .. (answer == -1 and '-' or answer.ok))
end
