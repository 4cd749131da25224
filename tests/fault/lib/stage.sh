#!/bin/bash
# stage.sh FUNCTION JOB - a function of the campaign's burst_buffer.lua: copies the folder stage/pool to a folder of the job and what the job
# made of it to stage/result, or makes and removes the job's folder. Two functions of a job at the same time, and a folder that is there
# already, go to stage/doubled.
set -eu
folder=${0%/*}/stage
place=$folder/fast/$2
exec 9>>"$folder/locks/$2"
flock -n 9 || echo "$1 of job $2 beside another function" >>"$folder/doubled"
case $1 in
setup) mkdir "$place" || echo "$1 of job $2, which has its folder already" >>"$folder/doubled" ;;
data_in)
	rm -rf "$place/in"
	cp -r "$folder/pool" "$place/in"
	;;
data_out)
	rm -rf "$folder/result/$2.new"
	cp -r "$place/out" "$folder/result/$2.new"
	rm -rf "$folder/result/$2"
	mv "$folder/result/$2.new" "$folder/result/$2"
	;;
job_teardown) rm -rf "$place" ;;
esac
[ $((RANDOM % 4)) -gt 0 ] || sleep "0.$((RANDOM % 4))"
