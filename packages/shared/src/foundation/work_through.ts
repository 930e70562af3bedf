/**
 * Works through items in their order, at most `width` of them at the same time, and begins no further one once `mayBegin` says no.
 * @throws the first failure of `work`.
 */
export async function workThrough<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
  mayBegin: () => boolean = () => true,
): Promise<void> {
  // all workers take from the same iterator
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) {
      if (!mayBegin()) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}
