-- Adds units to a log as a sorted set, whatever its limit.
-- KEYS[1]          the log
-- ARGV[1]          time to live of the key, milliseconds
-- ARGV[2], [4] ... times, microseconds since the epoch
-- ARGV[3], [5] ... units at the time before
-- Returns          {1}

local key = KEYS[1]
for i = 2, #ARGV, 2 do
  -- Members are unique, and the reply tells which were taken already.
  local time, units, number = ARGV[i], tonumber(ARGV[i + 1]), 0
  while units > 0 do
    number = number + 1
    units = units - redis.call('ZADD', key, 'NX', time, time .. '+' .. number)
  end
end
redis.call('PEXPIRE', key, ARGV[1])
return { 1 }
