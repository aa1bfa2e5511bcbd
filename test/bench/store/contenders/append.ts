import { AppendLog, lineOf } from './append-log.ts';
import { figures, inFlight } from './work.ts';

// The limit of durable creations: lines that are appended to a file.

const WARM_UP = 3000;

const [width = '1', file = '', length = '1', count = '0'] = process.argv.slice(2);
const line = lineOf(Number(length));
const log = await AppendLog.open(file);

const work = Number(width) > 1 ? () => log.append(line) : () => log.appendAlone(line);
await inFlight(Number(width), WARM_UP, work);
const seconds = await inFlight(Number(width), Number(count), work);
figures({ seconds, bytes: line.length });
await log.close();
