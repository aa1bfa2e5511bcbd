import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The requests of a file in the folder `requests`, whose first lines say what they are. */
export function requestsIn<Content>(name: string): Content {
  const file = join(import.meta.dirname, 'requests', `${name}.yaml`);
  return parse(readFileSync(file, 'utf8')) as Content;
}
