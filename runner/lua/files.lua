-- files.lua - the library `io` of a script in the sandbox: it opens the texts of the request, and no file (script_files.c).
--
-- The chunk gets functions that the script cannot change, and returns the function that makes a library. `texts` are the contents by
-- name; a script can read and write only these names, and the new contents are in `texts` afterwards. `note` writes to the log.
local sub, find, match, type, tonumber, tostring, concat, unpack, setmetatable, getmetatable, rawget, error = ...

return function(texts, note)
	local io, methods = {}, {}
	local meta = {__index = methods, __name = "FILE*", __metatable = false}
	local state = setmetatable({}, {__mode = "k"}) -- file -> its name, position, and whether it may be read and written

	local function state_of(file)
		local s = state[file]
		if not s then error("bad argument: a file expected", 3) end
		if s.closed then error("attempt to use a closed file", 3) end
		return s
	end

	local function new(s)
		local file = setmetatable({}, meta)
		state[file] = s
		return file
	end

	local function read_one(s, format)
		local text = texts[s.name]
		local from = s.at + 1
		if type(format) == "number" then
			if from > #text and format >= 0 then return nil end
			s.at = s.at + #sub(text, from, s.at + format)
			return sub(text, from, s.at)
		end
		format = match(format, "^%*?(%a)")
		if format == "a" then
			s.at = #text
			return sub(text, from)
		elseif format == "n" then
			local _, last, number = find(text, "^%s*([%x%.xXpP+-]+)", from)
			s.at = last or s.at
			return number and tonumber(number)
		elseif format == "l" or format == "L" then
			if from > #text then return nil end
			local last = find(text, "\n", from, true)
			s.at = last or #text
			return sub(text, from, last and format == "l" and last - 1 or s.at)
		end
		error("bad argument: invalid format", 4)
	end

	local function read(s, ...)
		if not s.reads then return nil, "Bad file descriptor", 9 end
		local formats, values = {...}, {}
		if #formats == 0 then formats[1] = "l" end
		for i = 1, #formats do
			values[i] = read_one(s, formats[i])
			if values[i] == nil then return unpack(values, 1, i) end
		end
		return unpack(values, 1, #formats)
	end

	function methods.read(file, ...)
		return read(state_of(file), ...)
	end

	function methods.write(file, ...)
		local s = state_of(file)
		if not s.writes then return nil, "Bad file descriptor", 9 end
		local parts = {...}
		for i = 1, #parts do
			if type(parts[i]) ~= "string" and type(parts[i]) ~= "number" then error("bad argument to 'write'", 2) end
		end
		local added = concat(parts)
		if s.name then
			local text = texts[s.name]
			if s.appends then s.at = #text end
			texts[s.name] = concat({sub(text, 1, s.at), added, sub(text, s.at + #added + 1)})
			s.at = s.at + #added
		else
			note(match(added, "^(.-)\n?$"))
		end
		return file
	end

	function methods.lines(file, ...)
		local s, formats = state_of(file), {...}
		return function()
			return read(s, unpack(formats))
		end
	end

	function methods.seek(file, whence, offset)
		local s = state_of(file)
		if not s.name then return nil, "Illegal seek", 29 end
		local base = ({set = 0, cur = s.at, ["end"] = #texts[s.name]})[whence or "cur"]
		if not base then error("bad argument: invalid option", 2) end
		local at = base + (offset or 0)
		if at < 0 or at > #texts[s.name] then return nil, "Invalid argument", 22 end
		s.at = at
		return at
	end

	function methods.close(file)
		state_of(file).closed = true
		return true
	end

	function methods.flush(file)
		state_of(file)
		return file
	end

	methods.setvbuf = methods.flush
	meta.__close = function(file)
		state[file].closed = true
	end

	function io.open(name, mode)
		mode = mode or "r"
		local kind, plus = match(mode, "^([rwa])(%+?)b?$")
		if not kind then error("bad argument: invalid mode", 2) end
		if rawget(texts, name) == nil then return nil, tostring(name) .. ": No such file or directory", 2 end
		if kind == "w" then texts[name] = "" end
		return new({name = name, at = 0, reads = kind == "r" or plus == "+", writes = kind ~= "r" or plus == "+", appends = kind == "a"})
	end

	io.stdout, io.stderr = new({writes = true}), new({writes = true})
	local input, output = nil, io.stdout

	local function choose(file, mode)
		if type(file) ~= "string" then
			state_of(file)
			return file
		end
		local opened, why = io.open(file, mode)
		if not opened then error(why, 3) end
		return opened
	end

	function io.input(file)
		if file ~= nil then input = choose(file, "r") end
		return input
	end

	function io.output(file)
		if file ~= nil then output = choose(file, "w") end
		return output
	end

	function io.read(...)
		if not input then return nil end
		return input:read(...)
	end

	function io.write(...)
		return output:write(...)
	end

	function io.lines(name, ...)
		if name ~= nil then return choose(name, "r"):lines(...) end
		if not input then return function() end end
		return input:lines(...)
	end

	function io.close(file)
		return (file or output):close()
	end

	function io.type(file)
		local s = type(file) == "table" and state[file]
		return s and (s.closed and "closed file" or "file") or nil
	end

	return io
end
