-- The sliding window log as a list of the times of admitted units, oldest first.
-- KEYS[1]  the log
-- ARGV[1]  now, microseconds since the epoch
-- ARGV[2]  horizon, now - window, microseconds: an entry counts if and only if it is later
-- ARGV[3]  limit, units
-- ARGV[4]  cost, units
-- ARGV[5]  time to live of the key, milliseconds
-- ARGV[6]  '1': record what is admitted; '0': write nothing at all
-- ARGV[7]  units of the client's earlier identities that count, all older than those in this log
-- Returns  {admitted 1 or 0, units in this log that count, oldest, newest, blocking}, the last three
--          as times in microseconds; blocking 0 where it is not in this log; see core::log::Facts
-- Microseconds that are written come from ARGV: tostring() would round them.

local key, now, horizon = KEYS[1], ARGV[1], tonumber(ARGV[2])
local limit, cost, record = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[6] == '1'
local total = redis.call('LLEN', key)

local function time_at(index)
  return tonumber(redis.call('LINDEX', key, index))
end

-- How many of the entries are not later than `bound`. Usually only the first few are, so the search
-- widens from the head before it halves.
local function count_until(bound)
  local low, high = 0, 1
  while high <= total and time_at(high - 1) <= bound do
    low, high = high, high * 2
  end
  high = math.min(high, total + 1)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if time_at(middle - 1) <= bound then
      low = middle
    else
      high = middle
    end
  end
  return low
end

local stale = count_until(horizon)
local used = total - stale
local oldest, newest, blocking = 0, 0, 0
if used > 0 then
  oldest, newest = time_at(stale), time_at(-1)
end
local admitted = tonumber(ARGV[7]) + used + cost <= limit
if cost <= limit and used + cost > limit then
  blocking = time_at(stale + used + cost - limit - 1)
end

-- A caller whose clock is ahead must not delete what still counts for others, so the server's clock
-- has a say. Where it may not be asked, a second window stands in for it.
local function trim()
  local time = redis.pcall('TIME')
  local window = tonumber(now) - horizon
  local server = time.err and horizon or tonumber(time[1]) * 1000000 + tonumber(time[2])
  local gone = stale
  if server < tonumber(now) then
    gone = count_until(server - window)
  end
  redis.call('LTRIM', key, gone, -1)
end

-- Hosts' clocks differ: an entry that others have overtaken goes before the first that is later.
local function add(units)
  local later = total > 0 and time_at(-1) > tonumber(now)
      and redis.call('LINDEX', key, count_until(tonumber(now)))
  for _ = 1, units do
    if later then
      redis.call('LINSERT', key, 'BEFORE', later, now)
    else
      redis.call('RPUSH', key, now)
    end
  end
end

if record and admitted then
  add(cost)
  if stale > 0 then
    trim()
  end
  redis.call('PEXPIRE', key, ARGV[5])
elseif record and total > 0 and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ARGV[5])
end
return { admitted and 1 or 0, used, oldest, newest, blocking }
