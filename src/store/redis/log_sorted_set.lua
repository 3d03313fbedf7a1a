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

local call, key = redis.call, KEYS[1]
local limit, cost = tonumber(ARGV[3]), tonumber(ARGV[4])
local total, stale, used = call('ZCARD', key), 0, 0
local oldest, newest, blocking = 0, 0, 0
if total > 0 then
  oldest = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if tonumber(oldest) <= tonumber(ARGV[2]) then
    stale = total - call('ZCOUNT', key, '(' .. ARGV[2], '+inf')
    oldest = stale < total and call('ZRANGE', key, stale, stale, 'WITHSCORES')[2]
  end
  used = total - stale
  if used > 0 then
    newest = used == 1 and oldest or call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  end
end
local admitted = tonumber(ARGV[7]) + used + cost <= limit
if cost <= limit and used + cost > limit then
  local rank = stale + used + cost - limit - 1
  blocking = rank == stale and oldest or call('ZRANGE', key, rank, rank, 'WITHSCORES')[2]
end

if ARGV[6] == '1' and admitted then
  if stale > 0 then
    -- A caller whose clock is ahead must not delete what still counts for others, so the server's
    -- clock has a say. Where it may not be asked, a second window stands in for it.
    local now, horizon = tonumber(ARGV[1]), tonumber(ARGV[2])
    local time = redis.pcall('TIME')
    local server = time.err and horizon or tonumber(time[1]) * 1000000 + tonumber(time[2])
    local bound = math.min(now, server) - (now - horizon)
    call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', bound))
  end
  -- A member is the low digits of its time, small and all but unique. NX skips one that is taken
  -- and the reply tells, so that the rest is tried with the next number.
  local digits, left = tonumber(string.sub(ARGV[1], -7)), cost
  while left > 1 do
    local entries = {}
    for unit = 1, left do
      entries[2 * unit - 1] = ARGV[1]
      entries[2 * unit] = digits .. ':' .. unit
    end
    left = left - call('ZADD', key, 'NX', unpack(entries))
    digits = digits + 1
  end
  while left == 1 and call('ZADD', key, 'NX', ARGV[1], digits) == 0 do
    digits = digits + 1
  end
  call('PEXPIRE', key, ARGV[5])
elseif ARGV[6] == '1' and total > 0 and call('PTTL', key) == -1 then
  call('PEXPIRE', key, ARGV[5])
end
return {
  admitted and 1 or 0, used, tonumber(oldest or 0), tonumber(newest or 0), tonumber(blocking),
}
