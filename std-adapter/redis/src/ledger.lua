-- What atomic_breaker_std::fleet::Ledger does, as one script, by the time of the server.
-- KEYS: the records of the fleet, the votes for this breaker, who lives.
-- ARGV: what is asked, by whom, the name of the breaker, the channel, a random number, and what belongs to it.
--
-- Among the records, which have names, the field without one says which change was the last: its number, and the
-- random number of who made it, so that two servers of which each goes on from the same change are told apart.
local KEEP = 600000
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local what, from, name, channel, random = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- Doubles are exact up to 2^53; marks are text.
local function text(number)
  return string.format('%.0f', number)
end

-- What nobody can read is taken for absent.
local function parse(packed)
  local f = {}
  for part in string.gmatch(packed, '[^:]+') do
    f[#f + 1] = part
  end
  local record = {
    epoch = tonumber(f[1]), mark = f[2], open = f[3] == '1', ends = tonumber(f[4]),
    open_ms = tonumber(f[5]), trips = tonumber(f[6]), holder = f[7], lease_until = tonumber(f[8]),
    lease_ms = tonumber(f[9]), expires = tonumber(f[10]), packed = packed,
  }
  if record.epoch and record.ends and record.open_ms and record.trips and record.lease_until
    and record.lease_ms and record.expires and now < record.expires then
    return record
  end
end

local function load()
  local packed = redis.call('HGET', KEYS[1], name)
  return packed and parse(packed)
end

-- A few of the others are looked at, so that those that have expired do not gather.
local function sweep()
  local found = redis.pcall('HRANDFIELD', KEYS[1], 5, 'WITHVALUES')
  if found.err then
    -- Redis 6.0, where any number is a place to go on from.
    local place = tonumber(string.sub(random, 1, 8), 16)
    found = redis.call('HSCAN', KEYS[1], text(place), 'COUNT', 10)[2]
  end
  for i = 1, math.min(#found, 20), 2 do
    if found[i] ~= '' and found[i] ~= name and not parse(found[i + 1]) then
      redis.call('HDEL', KEYS[1], found[i])
    end
  end
end

-- Keeps a change, and publishes it with the change before it: who listens notices when one was missed.
local function save(r)
  r.packed = table.concat({
    text(r.epoch), r.mark, r.open and '1' or '0', text(r.ends), text(r.open_ms), text(r.trips),
    r.holder, text(r.lease_until), text(r.lease_ms), text(r.expires),
  }, ':')
  local before = redis.call('HGET', KEYS[1], '') or ''
  local number = tonumber(string.match(before, '^(%d+):') or '0')
  local change = text(number + 1) .. ':' .. random
  redis.call('HSET', KEYS[1], '', change, name, r.packed)
  local left = r.expires - now
  if redis.call('PTTL', KEYS[1]) < left then
    redis.call('PEXPIRE', KEYS[1], text(left))
  end
  sweep()
  redis.call('PUBLISH', channel, table.concat({ before, change, text(now), r.packed, name }, '|'))
end

-- One that has longer to go than it was granted for has lapsed, as the clock was set back.
local function lease_left(r)
  local left = r.lease_until - now
  return left >= 1 and left <= r.lease_ms and left or 0
end

local function next_epoch(r, known)
  return math.max(r and r.epoch or 0, known, now) + 1
end

local function begin(epoch, mark, open, open_ms, trips)
  redis.call('DEL', KEYS[2])
  local ends = now + open_ms
  local r = {
    epoch = epoch, mark = mark, open = open, ends = ends, open_ms = open_ms, trips = trips,
    holder = '-', lease_until = 0, lease_ms = 0, expires = ends + KEEP,
  }
  save(r)
  return r
end

-- Whether this period runs, whatever its epoch was raised to.
local function runs(r, epoch, mark)
  return r and r.open and r.mark == mark and epoch <= r.epoch
end

local function held_by_another(r)
  return r.holder ~= from and lease_left(r) > 0
end

-- What reads has to look at the records only if it has missed a change.
if what == 'read' then
  local every = tonumber(ARGV[6])
  redis.call('ZADD', KEYS[3], text(now + 3 * every), from)
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', text(now))
  if redis.call('PTTL', KEYS[3]) < 3 * every then
    redis.call('PEXPIRE', KEYS[3], text(3 * every))
  end
  return { redis.call('ZCARD', KEYS[3]), text(now), redis.call('HGET', KEYS[1], '') or '' }
end

local r = load()
local done, votes = false, 0

if what == 'vote' and not (r and r.open) then
  local quorum, window, open_ms = tonumber(ARGV[6]), tonumber(ARGV[7]), math.max(tonumber(ARGV[8]), 1)
  local known = tonumber(ARGV[9])
  redis.call('HSET', KEYS[2], from, text(now) .. ':' .. text(open_ms) .. ':' .. text(known))
  redis.call('PEXPIRE', KEYS[2], text(window))
  local opens = {}
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local at, open, other = string.match(all[i + 1], '^(%d+):(%d+):(%d+)$')
    at = tonumber(at)
    if all[i] == from or at and at > now - window and at <= now then
      opens[#opens + 1] = tonumber(open)
      known = math.max(known, tonumber(other))
    else
      redis.call('HDEL', KEYS[2], all[i])
    end
  end
  votes = #opens
  if votes >= quorum then
    table.sort(opens, function(a, b) return a > b end)
    r = begin(next_epoch(r, known), random, true, opens[math.max(quorum, 1)], 1)
    done, votes = true, 0
  end
elseif what == 'bid' and runs(r, tonumber(ARGV[6]), ARGV[7]) and not held_by_another(r) then
  r.holder, r.lease_ms = from, tonumber(ARGV[8])
  r.lease_until = now + r.lease_ms
  r.expires = math.max(r.expires, now + KEEP)
  save(r)
  done = true
elseif what == 'verdict' and runs(r, tonumber(ARGV[6]), ARGV[7]) and not held_by_another(r) then
  local epoch, open_ms = next_epoch(r, tonumber(ARGV[6])), tonumber(ARGV[8])
  if open_ms == 0 then
    r = begin(epoch, r.mark, false, 0, 0)
  else
    r = begin(epoch, random, true, open_ms, math.min(r.trips + 1, 255))
  end
  done = true
elseif what == 'raise' and runs(r, tonumber(ARGV[6]), ARGV[7]) and r.epoch <= tonumber(ARGV[8]) then
  r.epoch = tonumber(ARGV[8]) + 1
  save(r)
  done = true
end

if what == 'vote' and r and r.open then
  done = true
end
return { done and 1 or 0, votes, text(now), r and r.packed or '' }
