-- Reads a record.
--
-- KEYS[1]  The key.
-- ARGV[1]  The longest value that the client accepts, in bytes.
-- Returns  One of these replies:
-- * '<version>' or '<version> <value>'. The version is 0 if the key does not exist.
-- * 'of <lock>': a lock has the key.
-- * 'holds <type>' or -1: something else has the key.

--@include ../look.lua
--@include ../other_lock.lua
--@include record.lua

local record, answer = read_record(KEYS[1])
return record and state_of(KEYS[1], record, ARGV[1], '') or answer
