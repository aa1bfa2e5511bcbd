import { useEffect } from 'preact/hooks';
import { useChanges } from '../../api/listeners.ts';
import { sendJson } from '../../api/request.ts';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { save } from '../../components/files.ts';
import { formatBytes, formatTime } from '../../components/format.ts';
import { open, type Place, type ViewProps } from '../../components/navigation.tsx';
import { ErrorState, Loaded } from '../../components/states.tsx';
import { showToast } from '../../components/toast.tsx';
import { archiveOf, reportOf, withResults } from './archive.ts';
import { useDraft } from './draft.ts';
import { DropZone } from './drop-zone.tsx';
import { changeText, FileList } from './file-list.tsx';
import { type Operation, placeOf } from './operations.ts';
import { OptionForm } from './option-form.tsx';
import { ShownFile } from './shown-file.tsx';
import { type ImagesStore, type Item, isBusy, jobOf, storeOf } from './store.ts';

/** Image operations over files of the reader, with what they made beside what they were. */
export default function Images({ place, session }: ViewProps) {
  const operations = useResource(async (signal) => {
    const { data } = await sendJson<{ data: Operation[] }>('v1/operations', { signal });
    // The view sends files one by one.
    return data.filter(({ over }) => over === 'each');
  }, []);
  return (
    <>
      <h1>Images</h1>
      <p class="muted">
        Convert, resize and inspect images here. Images stay on this server, and cost no credits.
      </p>
      {session.account.plan === 'free' && (
        <p class="notice warn">
          This account is on the free plan. Image operations need a paid one, which the owner of the
          server sets.
        </p>
      )}
      <Loaded resource={operations}>
        {(all) => <Workbench store={storeOf(session.account.id)} all={all} place={place} />}
      </Loaded>
    </>
  );
}

interface WorkbenchProps {
  readonly store: ImagesStore;
  readonly all: readonly Operation[];
  readonly place: Place;
}

function Workbench({ store, all, place }: WorkbenchProps) {
  useChanges(store.changes);
  const { state } = store;
  const { items, shown, halt, pausedUntil } = state;
  const named = all.find(({ name }) => name === place.rest);
  const isBare = place.rest === '' && place.query.size === 0;
  const last = isBare ? all.find(({ name }) => name === store.last) : undefined;
  const operation = named ?? last ?? all[0]!;
  const [draft, onDraft] = useDraft(store, operation, place);
  const job = jobOf(operation, draft);
  useEffect(() => {
    store.last = operation.name;
    // The navigation leads to the view; the reader continues where they were.
    if (last) open(placeOf(operation, draft.values), { replace: true });
  }, [operation, last]);
  const isRunning = items.some(isBusy);
  useEffect(() => {
    if (!isRunning) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isRunning]);
  const item = items.find(({ id }) => id === shown);
  const retry = (id: number) => store.start(job, [id]);
  const resume = () =>
    store.start(
      job,
      items.filter(({ result }) => result?.job.key !== job.key).map(({ id }) => id),
    );
  return (
    <>
      {!named && place.rest !== '' && (
        <p class="notice warn">There is no operation {place.rest}. Choose another one.</p>
      )}
      <div class="stack top workbench">
        <DropZone store={store} isSmall={items.length > 0} />
        <OptionForm {...{ store, state, all, operation, draft, onDraft }} />
        <div class="stack">
          {pausedUntil !== null && (
            <p class="notice" role="status">
              The server is busy or the limit of requests is reached. Work continues by itself at{' '}
              {formatTime(pausedUntil / 1000)}.
            </p>
          )}
          {halt && halt.status !== 400 && (
            <ErrorState
              error={
                halt.status === 401
                  ? new Error('The session ended before all images were done.')
                  : halt
              }
              onRetry={resume}
            />
          )}
          {items.length > 0 && <Summary store={store} items={items} />}
          {items.length > 0 && <FileList {...{ store, items, shown }} onRetry={retry} />}
          {item && <ShownFile item={item} jobKey={job.key} onRetry={() => retry(item.id)} />}
        </div>
      </div>
    </>
  );
}

interface SummaryProps {
  readonly store: ImagesStore;
  readonly items: readonly Item[];
}

/** How far the work is, what it saved, and all results in one file. */
function Summary({ store, items }: SummaryProps) {
  const busy = items.filter(isBusy).length;
  const failed = items.filter(({ state }) => state === 'failed').length;
  const ready = withResults(items);
  const images = ready.filter(({ result }) => result.outputs.length > 0);
  const before = images.reduce((sum, { file }) => sum + file.size, 0);
  const after = images.reduce(
    (sum, { result }) => sum + result.outputs.reduce((bytes, { size }) => bytes + size, 0),
    0,
  );
  const parts = [
    `${items.length} ${items.length === 1 ? 'image' : 'images'}`,
    busy > 0 && `${busy} in progress`,
    ready.length > 0 && `${ready.length} with a result`,
    failed > 0 && `${failed} failed`,
  ].filter(Boolean);
  const saveAll = () => {
    try {
      save(archiveOf(images), 'images.zip');
    } catch (error) {
      showToast((error as Error).message, { isFault: true });
    }
  };
  return (
    <div class="stack gap-m summary">
      {busy > 0 && (
        <progress
          class="fill"
          value={items.length - busy}
          max={items.length}
          aria-label="Images that are ready"
        />
      )}
      <div class="row">
        <p role="status">
          {parts.join(', ')}
          {images.length > 0 && busy === 0 && (
            <>
              : {formatBytes(before)} → {formatBytes(after)},{' '}
              <strong>{changeText(before, after)}</strong>
            </>
          )}
        </p>
        <span class="end row">
          {images.length > 0 && <Button onClick={saveAll}>Save all as ZIP</Button>}
          {ready.length > images.length && (
            <Button onClick={() => save(reportOf(items), 'images.json')}>
              Save reports as JSON
            </Button>
          )}
          <Button kind="quiet" onClick={() => store.clear()}>
            Remove all
          </Button>
        </span>
      </div>
    </div>
  );
}
