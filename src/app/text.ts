import { join } from 'node:path';
import { BatchWorker } from '../batches/batch-worker.ts';
import { Batches } from '../batches/batches.ts';
import type { StoredFiles } from '../batches/stored-files.ts';
import { cacheSizesOf } from '../config/catalog/catalog.ts';
import { CacheFolder } from '../exchanges/cache/cache-folder.ts';
import { ExactCache } from '../exchanges/cache/exact-cache.ts';
import { Failure } from '../failure.ts';
import type { RequestLimits } from '../http/limits/request-limits.ts';
import { warnRarely } from '../http/observability/log.ts';
import { requestRecorder } from '../http/observability/request-record.ts';
import { admitInBackground, halfOf } from '../http/request/admission.ts';
import { screenPrompt } from '../safety/prompt-screening.ts';
import { tagsOf } from '../store/tags.ts';
import { BackgroundResponses } from '../text/background/background.ts';
import type { TextObserver } from '../text/billing/charge-report.ts';
import { TokenCounter } from '../text/counting/token-counter.ts';
import { TextGateway } from '../text/gateway.ts';
import { RowGateway } from '../text/rows/gateway.ts';
import { Activity } from '../text/stages/stage.ts';
import type { Parts } from './start.ts';

/** The gateways of text and embeddings, and the counter of tokens. */
export function createText(
  { state, store, upstream, textThreads, closers, routingObserver, log, metrics }: Parts,
  files: StoredFiles,
  { loads }: RequestLimits,
) {
  /** Counts the usage of requests, and logs its excesses. */
  const observer: TextObserver = {
    ...routingObserver,
    used: (model, usage) => metrics.observeTokens(model, usage),
    cached: (model, result) => metrics.cacheResults.inc({ model, result }),
    exceeded: (excess) =>
      log.warn(
        excess,
        'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
      ),
  };
  const config = () => state.config;
  const activity = new Activity();
  const sizes = () => cacheSizesOf(state.config);
  const cache = new ExactCache({
    storage:
      store.cache ?? new CacheFolder(join(state.config.dataDir, 'cache'), sizes, () => store.now),
    isShared: store.cache !== null,
    upstream,
    now: () => store.now,
    sizes,
    mayTrim: () => store.nodes.isLeader(),
    onFault: warnRarely(log, 'cached answers cannot be read or written'),
  });
  closers.add(() => cache.close());
  const text = new TextGateway({
    config,
    store,
    upstream,
    cache,
    ...{ observer, activity, files },
    admitPrompt: (prompt, param, client) => screenPrompt(textThreads, prompt, param, { client }),
  });
  const onFault = unlessStoreIsDown(warnRarely(log, 'a response in the background fails'));
  const background = new BackgroundResponses({
    ...{ text, store, upstream, config, onFault },
    admit: (holder, load) => admitInBackground(loads, holder, load),
  });
  closers.add(() => background.close());
  return {
    activity,
    text,
    background,
    rows: new RowGateway({ config, store, upstream, cache, observer, activity }),
    tokenCounter: new TokenCounter({ config, upstream, textThreads, observer: routingObserver }),
  };
}

/** The batches, and the worker that runs them, which has not started. */
export function createBatches(
  { state, store, upstream, log, metrics, closers }: Parts,
  files: StoredFiles,
  gateways: ReturnType<typeof createText>,
  { loads }: RequestLimits,
) {
  const { assets } = files;
  const services = { config: () => state.config, store, assets, files };
  const record = requestRecorder(state, store.requests, metrics.requestSeries);
  const worker = new BatchWorker({
    ...{ ...services, ...gateways, upstream },
    admit: (holder, load) => admitInBackground(loads, holder, load, halfOf),
    record: ({ answer: text, tags, ...line }, end) =>
      record({ ...line, tags: tagsOf(tags), answerCopy: { text } }, end),
    onFault: unlessStoreIsDown(warnRarely(log, 'a batch cannot be continued at present')),
  });
  closers.add(() => worker.close());
  return { batchWorker: worker, batches: new Batches({ ...services, worker }) };
}

/** The store itself logs that it cannot be used. */
function unlessStoreIsDown(warn: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Failure && error.code === 'store_unavailable')) warn(error);
  };
}
