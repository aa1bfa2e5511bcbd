import type { ProviderRecord } from '../../administration/catalog-records.ts';
import type { TestRecord } from '../../administration/provider-test.ts';
import { Failure, failureOf } from '../../failure.ts';
import { counted } from '../../words.ts';
import { type Examined, type Finding, failed, judged, type Run, skipped } from './check.ts';
import { adminCommand, isFinding } from './store.ts';

/** Providers that are tested at once. */
const AT_ONCE = 8;

const ENTER = 'Set what is missing in the environment, or enter it by oriel providers set.';

/** Milliseconds within which a short answer is expected. */
const SLOW_MS = 10_000;

export const providers: Run = async (examined) => {
  const list = adminCommand('providers', 'list');
  const listed = await examined.inCatalog(list);
  if (isFinding(listed)) return listed;
  const { providers: all } = listed as { readonly providers: readonly ProviderRecord[] };
  const own = all.filter(({ place }) => place !== 'the sandbox');
  const names = [...new Set(own.map(({ name }) => name))];
  if (names.length === 0) {
    // Where the store cannot be read, it may have some.
    const stored = await examined.inStore(list).catch(({ message }: Failure) => skipped(message));
    return isFinding(stored) ? stored : skipped('there are none but the sandbox');
  }
  const findings: Finding[] = [];
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const group = names.slice(from, from + AT_ONCE);
    findings.push(...(await Promise.all(group.map((name) => testOf(examined, name)))));
  }
  return findings;
};

async function testOf({ inCatalog }: Examined, name: string): Promise<Finding> {
  const result = await inCatalog(adminCommand('providers', 'test'), { name }).catch(failureOf);
  if (result instanceof Failure) return failed(`${name}: ${result.message}`, ENTER);
  const { isWorking, model, offered, fault, advice, milliseconds } = result as TestRecord;
  if (!isWorking) {
    const asked = model === null ? '' : `, asked for ${model}`;
    const remedy = advice ?? 'check the provider';
    return failed(`${name}${asked}: ${fault}`, `${remedy[0]!.toUpperCase()}${remedy.slice(1)}.`);
  }
  const models = offered ? `, offers ${counted(offered.length, 'model')}` : '';
  const text = `${name}: ${model ?? 'embedded'} answered in ${milliseconds} ms${models}`;
  return judged(text, { warns: milliseconds > SLOW_MS }, 'Look for a nearer region, or a proxy.');
}
