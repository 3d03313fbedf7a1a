-- Adds units to a log as a list of times, oldest first, whatever its limit.
-- KEYS[1]          the log
-- ARGV[1]          time to live of the key, milliseconds
-- ARGV[2], [4] ... times, microseconds since the epoch
-- ARGV[3], [5] ... units at the time before
-- Returns          {1}

local key = KEYS[1]

-- The first entry that is later; nil: there is none.
local function later_than(time)
  local later, index = nil, -1
  local value = redis.call('LINDEX', key, index)
  while value and tonumber(value) > time do
    later, index = value, index - 1
    value = redis.call('LINDEX', key, index)
  end
  return later
end

for i = 2, #ARGV, 2 do
  local later = later_than(tonumber(ARGV[i]))
  for _ = 1, tonumber(ARGV[i + 1]) do
    if later then
      redis.call('LINSERT', key, 'BEFORE', later, ARGV[i])
    else
      redis.call('RPUSH', key, ARGV[i])
    end
  end
end
redis.call('PEXPIRE', key, ARGV[1])
return { 1 }
