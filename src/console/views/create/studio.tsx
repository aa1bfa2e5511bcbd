import { useEffect, useRef, useState } from 'preact/hooks';
import { useAccount } from '../../api/account.ts';
import type { Model } from '../../api/models.ts';
import { type ApiError, apiErrorOf, sendJson } from '../../api/request.ts';
import { hasEnded, type Task, urlsOf } from '../../api/tasks.ts';
import { open } from '../../components/navigation.tsx';
import { showToast } from '../../components/toast.tsx';
import { type Draft, draftOf, EMPTY_DRAFT, type Kind } from './draft.ts';
import { faultsOf, type Situation } from './fields.ts';
import { GalleryView, nameOf, type Picture, picturesOf, useGallery } from './gallery.tsx';
import { Lightbox } from './lightbox.tsx';
import { requestOf } from './request.ts';
import { RequestForm } from './request-form.tsx';
import { useCreateStore } from './store.ts';
import { createTask } from './submit.ts';
import { Tile } from './tile.tsx';

interface StudioProps {
  readonly kind: Kind;
  /** Of this kind; at least one. */
  readonly models: readonly Model[];
  readonly hasVideo: boolean;
  readonly query: URLSearchParams;
  readonly account: string;
}

/** The form for one kind of media, and what was made. */
export function Studio({ kind, models, hasVideo, query, account: accountId }: StudioProps) {
  const store = useCreateStore(accountId);
  const account = useAccount();
  const gallery = useGallery(kind, account.reload);
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const isSending = useRef(false);
  const draft = store.state.drafts[kind];
  const wanted = query.get('model');
  const find = (id: string | null | undefined) => models.find((model) => model.id === id);
  const model = find(draft.values['model']) ?? models[0]!;
  useEffect(() => {
    if (find(wanted)) store.fill(kind, { model: wanted! });
  }, [wanted]);

  const submit = async (sent: Draft = draft) => {
    const chosen = find(sent.values['model']) ?? models[0]!;
    const request = requestOf({ kind, model: chosen, draft: sent });
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    setError(undefined);
    try {
      const key = store.keyOf(kind, JSON.stringify(request));
      const { id, ignored } = await createTask(request, key);
      if (ignored) showToast(`The model leaves out: ${ignored}`);
      store.acknowledge(kind, id, sent);
      const task = { task_id: id, status: 'pending', model: chosen.id, type: kind } as const;
      gallery.add({ ...task, result: null, error: null });
      account.reload();
      // On a narrow screen the results are below the form.
      document.getElementById('results')?.scrollIntoView({ block: 'nearest' });
    } catch (failure) {
      setError(apiErrorOf(failure));
    }
    isSending.current = false;
    setBusy(false);
  };

  /** Takes the draft that a task came from; null where the server does not answer. */
  const reuse = async (task: Task): Promise<Draft | null> => {
    try {
      const found = store.state.sent[task.task_id] ?? (await draftOfTask(task));
      store.replace(kind, found);
      setError(undefined);
      return found;
    } catch (failure) {
      showToast((failure as Error).message, { isFault: true });
      return null;
    }
  };
  const retry = async (task: Task) => {
    const found = await reuse(task);
    if (!found) return;
    const chosen = find(found.values['model']) ?? models[0]!;
    const faults = faultsOf({ kind, model: chosen, draft: found });
    if (Object.keys(faults).length === 0) await submit(found);
  };

  const situation: Situation = { kind, model, draft };
  return (
    <div class="create">
      <RequestForm
        situation={situation}
        models={models}
        error={error}
        isBusy={isBusy}
        available={account.data?.credits.available}
        onDraft={(changed) => {
          setError(undefined);
          store.change(kind, changed);
        }}
        onInput={(input) =>
          store.change(kind, { inputs: [...store.state.drafts[kind].inputs, input] })
        }
        onValues={(values) => {
          setError(undefined);
          store.fill(kind, values);
          if (values['model']) {
            const picked = new URLSearchParams({ model: values['model'] });
            open(`create/${kind}?${picked}`, { replace: true });
          }
        }}
        onSubmit={() => submit()}
        onReset={() => {
          setError(undefined);
          store.replace(kind, { ...EMPTY_DRAFT, values: { model: model.id } });
        }}
        onBringBack={store.state.replaced[kind] && (() => store.bringBack(kind))}
      />
      <GalleryView kind={kind} gallery={gallery}>
        {(tasks) => (
          <>
            <ul class="tiles">
              {tasks.map((task) => (
                <Tile
                  key={task.task_id}
                  task={task}
                  prompt={promptOf(task, store.state.sent)}
                  isBlocked={isBusy}
                  onOpen={(index) => open(`create/${kind}?show=${nameOf({ task, index })}`)}
                  onRetry={() => retry(task)}
                  onReuse={() => reuse(task)}
                />
              ))}
            </ul>
            {kind === 'image' && (
              <OpenPicture
                pictures={picturesOf(tasks.filter(hasEnded))}
                name={query.get('show')}
                sent={store.state.sent}
                hasVideo={hasVideo}
                canEdit={model.endpoints.includes('/v1/images/edits')}
                onUse={(url, use) => {
                  const input = { url, name: 'image of the gallery' };
                  if (use === 'video') {
                    store.replace('video', { ...store.state.drafts.video, inputs: [input] });
                    open('create/video');
                  } else {
                    store.replace('image', { ...draft, inputs: [input], use, mask: null });
                    open('create/image', { replace: true });
                    scrollTo(0, 0);
                  }
                }}
              />
            )}
          </>
        )}
      </GalleryView>
    </div>
  );
}

/** The prompt of a task; undefined while only an event has named one of another tab or program. */
function promptOf(
  { task_id: id, request }: Task,
  sent: Readonly<Record<string, Draft>>,
): string | undefined {
  const prompt = request?.['prompt'];
  return typeof prompt === 'string' ? prompt : sent[id]?.values['prompt'];
}

interface OpenPictureProps {
  readonly pictures: readonly Picture[];
  /** Of the picture in the address. */
  readonly name: string | null;
  readonly sent: Readonly<Record<string, Draft>>;
  readonly hasVideo: boolean;
  readonly canEdit: boolean;
  readonly onUse: (url: string, use: Draft['use'] | 'video') => void;
}

/** The draft of a task that another tab or a program created. @throws ApiError */
async function draftOfTask({ task_id: id, model }: Task): Promise<Draft> {
  const { request } = await sendJson<{ request: Readonly<Record<string, unknown>> }>(
    `v1/tasks/${encodeURIComponent(id)}/timeline`,
  );
  return draftOf(request, model);
}

/** The picture that the address names, if it is in the gallery. */
function OpenPicture({ pictures, name, sent, hasVideo, canEdit, onUse }: OpenPictureProps) {
  const position = pictures.findIndex((picture) => nameOf(picture) === name);
  const shown = pictures[position];
  if (!shown) return null;
  const { task, index } = shown;
  const url = urlsOf(task)[index]!;
  return (
    <Lightbox
      pictures={pictures}
      position={position}
      prompt={promptOf(task, sent)}
      canEdit={canEdit}
      canAnimate={hasVideo}
      onMove={(to) => open(`create/image?show=${nameOf(pictures[to]!)}`, { replace: true })}
      onClose={() => open('create/image', { replace: true })}
      onEdit={() => onUse(url, 'edit')}
      onReference={() => onUse(url, 'reference')}
      onAnimate={() => onUse(url, 'video')}
    />
  );
}
