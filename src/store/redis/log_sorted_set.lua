-- The sliding window log as a sorted set: score the time of an admitted unit, member unique.
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

local function time_at(rank)
  return tonumber(redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')[2])
end

local total, stale = redis.call('ZCARD', key), 0
local oldest, newest, blocking = 0, 0, 0
if total > 0 then
  oldest = time_at(0)
  if oldest <= horizon then
    stale = total - redis.call('ZCOUNT', key, '(' .. ARGV[2], '+inf')
    oldest = stale < total and time_at(stale) or 0
  end
end
local used = total - stale
if used > 0 then
  newest = time_at(-1)
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
  local bound = math.min(tonumber(now), server) - window
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', bound))
end

-- A member is the low digits of its time, small and all but unique. NX skips one that is taken and
-- the reply tells, so that the rest is tried with the next number.
local function add(units)
  local digits = tonumber(now) % 8388608
  while units > 0 do
    local entries = {}
    for unit = 1, units do
      entries[2 * unit - 1] = now
      entries[2 * unit] = unit == 1 and digits or digits .. ':' .. unit
    end
    units = units - redis.call('ZADD', key, 'NX', unpack(entries))
    digits = digits + 1
  end
end

if record and admitted then
  if stale > 0 then
    trim()
  end
  add(cost)
  redis.call('PEXPIRE', key, ARGV[5])
elseif record and total > 0 and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ARGV[5])
end
return { admitted and 1 or 0, used, oldest, newest, blocking }
