// The worker that runs the core as WebAssembly.

interface Core {
  memory: WebAssembly.Memory;
  lab_alloc(size: number): number;
  lab_free(at: number, size: number): void;
  lab_ask(at: number, size: number): number;
}

const HEAD = 8;
const scope = self as unknown as DedicatedWorkerGlobalScope;
let core: Promise<Core>;

function answer(lab: Core, request: string): ArrayBuffer {
  const bytes = new TextEncoder().encode(request);
  const at = lab.lab_alloc(bytes.length);
  new Uint8Array(lab.memory.buffer, at, bytes.length).set(bytes);
  const reply = lab.lab_ask(at, bytes.length) >>> 0;
  lab.lab_free(at, bytes.length);
  const size = new DataView(lab.memory.buffer).getUint32(reply, true);
  const copy = lab.memory.buffer.slice(reply + HEAD, reply + HEAD + size);
  lab.lab_free(reply, HEAD + size);
  return copy as ArrayBuffer;
}

scope.onmessage = async ({ data }: MessageEvent<{ module?: WebAssembly.Module; id: number; request: string }>) => {
  if (data.module) {
    core = WebAssembly.instantiate(data.module, {}).then((instance) => instance.exports as unknown as Core);
    return;
  }
  try {
    const reply = answer(await core, data.request);
    scope.postMessage({ id: data.id, reply }, [reply]);
  } catch (error) {
    scope.postMessage({ id: data.id, error: String(error) });
  }
};
